import { fork } from "node:child_process";
import { once } from "node:events";
import { type Lock, Redlock } from "@holdfast/core";
import { postgresNode } from "@holdfast/postgres";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import pg from "pg";
import postgres from "postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freshTable, inTransactionOf, serverOfFile } from "./servers.ts";

const { connectionString } = await serverOfFile();
let pool: pg.Pool;
let table: string;
let redlock: Redlock;
let node: ReturnType<typeof postgresNode>;
let lock: Lock;

/** For a busy machine: no test is about a server that takes long. */
const patient = { nodeTimeoutMs: 5_000 };

beforeEach(async () => {
  table = await freshTable(connectionString);
  pool = new pg.Pool({ connectionString });
  pool.on("error", () => {});
  node = postgresNode(pool, { table });
  redlock = new Redlock([node], patient);
  lock = await redlock.acquire(["invoice:41", "invoice:42"], { ttlMs: 60_000 });
});
afterEach(async () => {
  await redlock.close();
  await pool.end();
});

/** Runs a step in a transaction, which is rolled back if the step fails. */
const inTransaction = <T>(step: (client: pg.PoolClient) => Promise<T>, begin?: string) =>
  inTransactionOf(pool, step, begin);

/** Ends the ttl of a lock now. */
async function expire(): Promise<void> {
  await pool.query(`UPDATE "${table}" SET until = clock_timestamp() WHERE owner IS NOT NULL`);
}

const others: [string, () => Promise<Partial<Lock>>][] = [
  ["with another owner", async () => ({ owner: "another" })],
  ["with another fence", async () => ({ fence: lock.fence - 1 })],
  ["on more resources", async () => ({ resources: [...lock.resources, "more"] })],
  ["that was released", () => lock.release().then(() => ({}))],
  ["whose ttl has ended", () => expire().then(() => ({}))],
];

describe("holds()", () => {
  test("holds() resolves with whether all resources are held, under the owner and the fence of the lock", async () => {
    expect(await inTransaction((client) => node.holds(client, lock))).toBe(true);
    const { owner, fence } = lock;
    const part = { resources: ["invoice:42"], owner, fence };
    expect(await inTransaction((client) => node.holds(client, part))).toBe(true);
  });

  test.each(others)("holds() resolves with false for a lock %s", async (_, change) => {
    const { resources, owner, fence } = lock;
    const other = { resources, owner, fence, ...(await change()) };
    expect(await inTransaction((client) => node.holds(client, other))).toBe(false);
  });

  const ends: [string, () => Promise<void>, begin?: string][] = [
    ["the ttl ends meanwhile", expire],
    ["the lock is released meanwhile", () => lock.release()],
    ["the ttl ends meanwhile, at REPEATABLE READ", expire, "BEGIN ISOLATION LEVEL REPEATABLE READ"],
    ["the ttl ends meanwhile, at SERIALIZABLE", expire, "BEGIN ISOLATION LEVEL SERIALIZABLE"],
  ];
  test.each(ends)("holds() keeps others out until the transaction ends, although %s", async (_, end, begin) => {
    const rival = new Redlock([node], { ...patient, waitTimeoutMs: 30_000, retryDelayMaxMs: 30 });
    let waiting: Promise<Lock> | undefined;
    const order: string[] = [];
    await inTransaction(async (client) => {
      expect(await node.holds(client, lock)).toBe(true);
      await end();
      for (const resource of lock.resources) expect(await rival.tryAcquire(resource)).toBeNull();
      expect(await rival.tryAcquire(lock.resources)).toBeNull();
      waiting = rival.acquire(lock.resources).finally(() => order.push("the rival has the lock"));
      await new Promise((resolve) => setTimeout(resolve, 300));
      order.push("the transaction ends");
    }, begin);
    const next = (await waiting) as Lock;
    expect(order).toEqual(["the transaction ends", "the rival has the lock"]);
    expect(next.fence).toBeGreaterThan(lock.fence);
    await next.release();
  });

  test("holds() lets the holder extend and release the lock during the transaction", async () => {
    await inTransaction(async (client) => {
      expect(await node.holds(client, lock)).toBe(true);
      await lock.extend({ ttlMs: 120_000 });
      expect(lock.remainingMs()).toBeGreaterThan(60_000);
      await lock.release();
    });
  });

  test("holds() keeps the lock from a node that rejoins, until the transaction ends", async () => {
    const { resources, owner } = lock;
    const request = { resources, owner: "late", ttlMs: 1_000, fence: lock.fence, rejoin: true, timeoutMs: 200 };
    await inTransaction(async (client) => {
      await node.holds(client, lock);
      await expire();
      expect(await node.extend(request)).toEqual({ held: false, rejoined: false });
    });
    expect(await node.extend(request)).toEqual({ held: false, rejoined: true });
    await node.release({ resources, owner, timeoutMs: 200 });
  });

  test("holds() resolves with false if another owner gets a resource while it waits for the row of another one", async () => {
    const blocker = await pool.connect();
    await blocker.query("BEGIN");
    await blocker.query(`SELECT FROM "${table}" WHERE name = 'invoice:41' FOR UPDATE`);
    const holds = inTransaction((client) => node.holds(client, lock));
    await expect
      .poll(async () => (await pool.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'")).rowCount)
      .toBe(1);
    await pool.query(`UPDATE "${table}" SET until = clock_timestamp() WHERE name = 'invoice:42'`);
    expect(await new Redlock([node], patient).tryAcquire("invoice:42")).not.toBeNull();
    await blocker.query("COMMIT");
    blocker.release();
    expect(await holds).toBe(false);
  });

  test("holds() lasts until ROLLBACK TO a savepoint that came before it, and past one that came after it", async () => {
    const rival = new Redlock([node], { nodeTimeoutMs: 200 });
    const isFree = () => rival.tryAcquire("invoice:42");
    await inTransaction(async (client) => {
      expect(await node.holds(client, lock)).toBe(true);
      await client.query("SAVEPOINT later");
      expect(await node.holds(client, lock)).toBe(true);
      await expire();
      await client.query("ROLLBACK TO later");
      expect(await isFree()).toBeNull();
    });
    await pool.query(`UPDATE "${table}" SET until = 'infinity' WHERE owner IS NOT NULL`);
    await inTransaction(async (client) => {
      await client.query("SAVEPOINT earlier");
      expect(await node.holds(client, lock)).toBe(true);
      await expire();
      await client.query("ROLLBACK TO earlier");
      expect(await isFree()).not.toBeNull();
      expect(await node.holds(client, lock)).toBe(false);
    });
  });

  test("holds() keeps others out until a prepared transaction is committed", async () => {
    const rival = new Redlock([node], patient);
    const client = await pool.connect();
    await client.query("BEGIN");
    expect(await node.holds(client, lock)).toBe(true);
    await client.query("PREPARE TRANSACTION 'later'");
    client.release(true);
    await expire();
    const blocked = rival.acquire("invoice:42", { waitTimeoutMs: 0 });
    await expect(blocked).rejects.toThrow(
      "could not lock invoice:42: a transaction that called holds() or locks the table blocks it",
    );
    await pool.query("COMMIT PREPARED 'later'");
    expect(await rival.tryAcquire("invoice:42")).not.toBeNull();
  });

  describe.each(["REPEATABLE READ", "SERIALIZABLE"])("at isolation level %s", (level) => {
    const begin = `BEGIN ISOLATION LEVEL ${level}`;
    /** Calls `holds` in a transaction that took its snapshot before the step. */
    const afterSnapshot = (step: () => Promise<unknown>): Promise<boolean> =>
      inTransaction(async (client) => {
        await client.query("SELECT 1 FROM pg_class LIMIT 1");
        await step();
        return node.holds(client, lock);
      }, begin);

    test("holds() sees the claim if it was extended since the snapshot", async () => {
      expect(await afterSnapshot(() => lock.extend({ ttlMs: 120_000 }))).toBe(true);
    });

    const passes: [string, () => Promise<void>][] = [
      ["was released and", () => lock.release()],
      ["ended, and", expire],
    ];
    test.each(passes)(
      "holds() fails with a serialization error if the claim %s another one was granted since the snapshot",
      async (_, end) => {
        const pass = async (): Promise<void> => {
          await end();
          expect(await new Redlock([node], patient).tryAcquire("invoice:42")).not.toBeNull();
        };
        await expect(afterSnapshot(pass)).rejects.toMatchObject({ code: "40001" });
      },
    );
  });

  test("holds() refuses anything but a client in a transaction", async () => {
    const client = await pool.connect();
    const sql = postgres(connectionString, { onnotice: () => {} });
    const reserved = await sql.reserve();
    try {
      for (const given of [pool, client, sql, reserved, {}, undefined]) {
        await expect(node.holds(given as never, lock)).rejects.toThrow(
          /^the transaction must be a client in a transaction, or a function .* in one, not /,
        );
      }
      await reserved.unsafe("BEGIN");
      expect(await node.holds(reserved, lock)).toBe(true);
      await reserved.unsafe("COMMIT");
      // Older versions of pg do not tell whether a client is in a transaction.
      Object.assign(client, { getTransactionStatus: undefined });
      await expect(node.holds(client, lock)).rejects.toThrow("not a client without a transaction: run BEGIN first");
      await client.query("BEGIN");
      expect(await node.holds(client, lock)).toBe(true);
      await client.query("COMMIT");
    } finally {
      reserved.release();
      client.release(true);
      await sql.end();
    }
  });
});

test("holds() takes a function that runs statements in a transaction, and refuses what it cannot use", async () => {
  const refusal = (given: string) => new RegExp(`^the transaction must be a client .* in one, not ${given}$`);
  await inTransaction(async (client) => {
    expect(await node.holds((text, values) => client.query(text, values).then(({ rows }) => rows), lock)).toBe(true);
    const whole = (text: string, values: unknown[]) => client.query(text, values);
    await expect(node.holds(whole as never, lock)).rejects.toThrow(refusal("a function that .* but an array of rows"));
  });
  const alone = (text: string, values: unknown[]) => pool.query(text, values).then(({ rows }) => rows);
  await expect(node.holds(alone, lock)).rejects.toThrow(refusal("a client without a transaction: run BEGIN first"));
  const readOnly = inTransaction((client) => node.holds(client, lock), "BEGIN READ ONLY");
  await expect(readOnly).rejects.toThrow(refusal("one that is READ ONLY: a row is locked"));
  const swallowing = (text: string, values: unknown[]) => alone(text, values).catch(() => []);
  await expect(node.holds(swallowing, lock)).rejects.toThrow(
    refusal("a client without a transaction: run BEGIN first"),
  );
  await inTransaction(async (client) => {
    const withMetadata = (text: string, values: unknown[]) =>
      client.query(text, values).then((result) => [result.rows, {}]);
    await expect(node.holds(withMetadata, lock)).rejects.toThrow(refusal("a function that .* but an array of rows"));
  });
  const connecting = new pg.Client({ connectionString });
  const connected = connecting.connect();
  await expect(node.holds(connecting, lock)).rejects.toThrow(
    refusal("a client without a transaction: run BEGIN first"),
  );
  await connected;
  await connecting.end();
  const broken = async () => Promise.reject(new Error("the network is down"));
  await expect(node.holds(broken, lock)).rejects.toThrow(/^the network is down$/);
});

describe("holds() of shared locks", () => {
  const shared = { mode: "shared", ttlMs: 60_000 } as const;
  let readers: Lock[];
  beforeEach(async () => {
    await lock.release();
    readers = await Promise.all([1, 2].map(() => new Redlock([node], patient).acquire("invoice:42", shared)));
  });

  /** Ends the claims of all readers now. */
  async function expireReaders(): Promise<void> {
    await pool.query(`UPDATE "${table}" SET until = clock_timestamp(), sharers =
      (SELECT jsonb_object_agg(key, jsonb_set(value, '{0}', '1')) FROM jsonb_each(sharers)) WHERE sharers IS NOT NULL`);
  }

  const ends: [string, () => Promise<void>][] = [
    ["their ttl ends", expireReaders],
    ["they are released", async () => void (await Promise.all(readers.map((reader) => reader.release())))],
  ];
  test.each(ends)(
    "holds() lets several readers hold, and keeps a writer out until the last one ends, although %s",
    async (_, end) => {
      const writer = new Redlock([node], { waitTimeoutMs: 30_000, retryDelayMaxMs: 30, nodeTimeoutMs: 1_000 });
      const isFree = () => writer.tryAcquire("invoice:42");
      let waiting: Promise<Lock> | undefined;
      let isWriting = false;
      await inTransaction(async (first) => {
        await inTransaction(async (second) => {
          for (const [index, client] of [first, second].entries()) {
            expect(await node.holds(client, readers[index] as Lock)).toBe(true);
          }
          await end();
          expect(await isFree()).toBeNull();
        });
        expect(await isFree()).toBeNull();
        waiting = writer.acquire("invoice:42").finally(() => {
          isWriting = true;
        });
        await new Promise((resolve) => setTimeout(resolve, 300)); // the writer has tried again and again
        expect(isWriting).toBe(false);
      });
      const next = (await waiting) as Lock;
      expect(next.fence).toBeGreaterThan(Math.max(...readers.map(({ fence }) => fence)));
      await next.release();
    },
  );

  test("holds() does not keep further readers from joining", async () => {
    await inTransaction(async (client) => {
      expect(await node.holds(client, readers[0] as Lock)).toBe(true);
      const reader = await new Redlock([node], patient).acquire("invoice:42", shared);
      expect(reader.fence).toBe(readers[0]?.fence);
      await reader.extend();
      await inTransaction(async (other) => expect(await node.holds(other, reader)).toBe(true));
      await reader.release();
    });
  });

  test("holds() of a writer keeps readers out until the transaction ends, although the ttl ends meanwhile", async () => {
    for (const reader of readers) await reader.release();
    const writer = await redlock.acquire("invoice:42");
    const reader = new Redlock([node], { ...patient, ...shared });
    const more = ["invoice:41", "invoice:42"];
    await inTransaction(async (client) => {
      expect(await node.holds(client, writer)).toBe(true);
      await expire();
      expect(await reader.tryAcquire("invoice:42")).toBeNull();
      expect(await reader.tryAcquire(more)).toBeNull();
      const { resources, owner, fence } = writer;
      const rejoin = { resources, owner: "late", ttlMs: 1_000, fence, rejoin: true, timeoutMs: 200, shared: true };
      expect(await node.extend({ ...rejoin, owner: `${owner} late` })).toEqual({ held: false, rejoined: false });
    });
    expect(await reader.tryAcquire(more)).not.toBeNull();
  });

  test("holds() resolves with false for a reader that has ended, and for one whose owner joined later", async () => {
    const [first, second] = readers as [Lock, Lock];
    await first.release();
    expect(await inTransaction((client) => node.holds(client, first))).toBe(false);
    expect(await inTransaction((client) => node.holds(client, second))).toBe(true);
    await expireReaders();
    expect(await inTransaction((client) => node.holds(client, second))).toBe(false);
    await (await redlock.acquire("invoice:42")).release(); // a writer
    const { resources, owner, fence } = first;
    const again = { resources, owner, ttlMs: 60_000, fenceHint: 1, timeoutMs: 1_000, shared: true };
    const grant = await node.acquire(again); // a late copy
    expect(grant).toMatchObject({ granted: true });
    expect(await inTransaction((client) => node.holds(client, first))).toBe(false);
    expect(
      await inTransaction((client) => node.holds(client, { ...first, resources, owner, fence: fence + 10 ** 15 })),
    ).toBe(false);
  });
});

test("a process that is paused across its ttl, in a transaction that holds the lock, commits before its rival locks", async () => {
  await pool.query("CREATE TABLE written (id serial, writer text, at timestamptz)");
  await lock.release();
  const ttlMs = 400;
  const program = await bundleProgram(new URL("./fixtures/paused-holder.ts", import.meta.url));
  const holder = fork(program, [connectionString, table, `${ttlMs}`], { execArgv: [] });
  try {
    const [held] = (await once(holder, "message")) as [{ fence: number; holds: boolean }];
    expect(held.holds).toBe(true);
    holder.kill("SIGSTOP");
    await expect.poll(async () => (await node.inspect("invoice:42")).owner).toBeNull(); // the ttl has ended
    const rival = new Redlock([node], { ...patient, waitTimeoutMs: 60_000 });
    expect(await rival.tryAcquire("invoice:42")).toBeNull();
    const waiting = rival.acquire("invoice:42").then(async (next) => {
      await pool.query("INSERT INTO written (writer, at) VALUES ('second', clock_timestamp())");
      return next;
    });
    await new Promise((resolve) => setTimeout(resolve, ttlMs)); // the rival has tried again and again
    expect((await pool.query("SELECT FROM written")).rowCount).toBe(0);
    holder.kill("SIGCONT");
    holder.send("go on");
    const [later] = (await once(holder, "message")) as [{ remainingMs: number; holdsLater: boolean }];
    expect(later).toEqual({ remainingMs: 0, holdsLater: false });
    expect((await waiting).fence).toBeGreaterThan(held.fence);
    const { rows } = await pool.query("SELECT writer FROM written ORDER BY at");
    expect(rows.map(({ writer }) => writer)).toEqual(["first", "second"]);
  } finally {
    holder.kill("SIGKILL");
  }
});
