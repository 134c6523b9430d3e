import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import { ConfigurationError, Redlock } from "@holdfast/core";
import { createTable, type PostgresClient, postgresNode } from "@holdfast/postgres";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import pg from "pg";
import postgres from "postgres";
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { freshTable, serverOfFile } from "./servers.ts";

const { connectionString } = await serverOfFile();
const pool = new pg.Pool({ connectionString });
pool.on("error", () => {});
afterAll(() => pool.end());

let table: string;
beforeEach(async () => {
  table = await freshTable(connectionString);
});
const nodes: { close(): PromiseLike<void> | void }[] = [];
afterEach(async () => {
  for (const node of nodes.splice(0)) await node.close();
});

/** Makes a node that is closed after the test. */
function nodeOver(client: PostgresClient = pool, options: Parameters<typeof postgresNode>[1] = { table }) {
  const node = postgresNode(client, options);
  nodes.push(node);
  return node;
}

const timeoutMs = 5_000;

/** Returns an acquire request. */
function claim(owner: string, ...resources: string[]) {
  return { resources: resources.sort(), owner, ttlMs: 60_000, fenceHint: 1, timeoutMs };
}

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function count(condition: string): Promise<number> {
  return (await pool.query(`SELECT FROM ${condition}`)).rowCount ?? 0;
}

describe("arguments", () => {
  const bad: [string, unknown, unknown, string][] = [
    ["an unknown option", pool, { tabel: "x" }, "did you mean table?"],
    ["a table that is no string", pool, { table: 7 }, "table must be a string, not 7"],
    ["an empty schema", pool, { schema: "" }, "schema must have 1 to 63 bytes, not 0"],
    ["a table name that would be truncated", pool, { table: "ä".repeat(32) }, "table must have 1 to 63 bytes, not 64"],
    ["a name that is no string", pool, { name: null }, "name must be a string, not null"],
    ["verifyServer that is no boolean", pool, { verifyServer: 1 }, "verifyServer must be a boolean, not 1"],
    ["wakeUps that are no boolean", pool, { wakeUps: "yes" }, "wakeUps must be a boolean, not a string"],
    [
      "a connection string",
      connectionString,
      {},
      "client must be a Pool or a Client of pg, or an instance of postgres.js",
    ],
    [
      "a bad listener",
      pool,
      { listener: {} },
      "listener must be a Pool or a Client of pg, or an instance of postgres.js",
    ],
    ["nothing", undefined, {}, "client must be a Pool"],
  ];
  test.each(bad)("postgresNode() refuses %s", (_, client, options, message) => {
    expect(() => postgresNode(client as PostgresClient, options as object)).toThrow(message);
  });

  test("postgresNode() refuses a transaction of postgres.js", async () => {
    const sql = postgres(connectionString, { onnotice: () => {} });
    await sql.begin(async (transaction) => {
      expect(() => postgresNode(transaction as never)).toThrow("not a transaction: claims must commit at once");
    });
    await sql.end();
  });

  test("createTable() returns a statement that may run again, also at once, and quotes any name", async () => {
    const options = { schema: 'a "schema"', table: `a 'table'; --` };
    await pool.query(`CREATE SCHEMA IF NOT EXISTS "a ""schema"""`);
    for (let round = 0; round < 2; round++) await pool.query(createTable(options));
    const node = nodeOver(pool, options);
    expect(await node.acquire(claim("alice", "r"))).toEqual({ granted: true, fence: 1 });
    expect(() => createTable({ name: "x" } as never)).toThrow(TypeError);
  });
});

describe("list()", () => {
  test("list() returns what is held, page by page, and no name that is not stored whole", async () => {
    const node = nodeOver();
    const odd = ["\u00e9\ud83d\ude00\ud800", "a'b\"c\\d", `${"x".repeat(997)}\\#`];
    await node.acquire(claim("alice", ...odd, "released", "y".repeat(1_500)));
    await node.release({ resources: ["released"], owner: "alice", timeoutMs });
    await node.acquire({ ...claim("alice", "ended"), ttlMs: 1 });
    await expect.poll(async () => (await node.inspect("ended")).owner).toBeNull();
    expect(new Set(await all(node.list()))).toEqual(new Set(odd));
    await pool.query(`INSERT INTO "${table}" (name, owner, until, fence)
      SELECT 'r' || n, 'bob', now() + interval '1 h', n FROM generate_series(1, 2500) AS n`);
    expect((await all(node.list())).length).toBe(2_500 + odd.length);
  });
});

describe("clients", () => {
  test("postgresNode() locks over a Client of pg, one request at a time", async () => {
    const client = new pg.Client(connectionString);
    await client.connect();
    const redlock = new Redlock([nodeOver(client)]);
    const locks = await Promise.all(["a", "b", "c"].map((resource) => redlock.acquire(resource)));
    expect(await redlock.tryAcquire("b")).toBeNull();
    await Promise.all(locks.map((lock) => lock.release()));
    const waiting = [redlock.acquire("a"), redlock.acquire("a")];
    await (await Promise.any(waiting)).release();
    await Promise.all(waiting.map(async (each) => (await each).release()));
    await redlock.close();
    await client.end();
  });

  test("acquire() rejects while a Client is in a transaction of its user", async () => {
    const client = new pg.Client(connectionString);
    await client.connect();
    const node = nodeOver(client);
    await client.query("BEGIN");
    await expect(node.acquire(claim("alice", "r"))).rejects.toThrow("the client is in a transaction");
    await client.query("COMMIT");
    expect((await node.acquire(claim("alice", "r"))).granted).toBe(true);
    await client.end();
  });

  test("acquire() is not sent after its timeout, when all connections of the pool were in use", async () => {
    const small = new pg.Pool({ connectionString, max: 1 });
    const sql = postgres(connectionString, { max: 1, onnotice: () => {} });
    const holder = await small.connect();
    const reserved = await sql.reserve();
    const calls = [small, sql].map((client, index) =>
      nodeOver(client).acquire({ ...claim("late", `r${index}`), timeoutMs: 20 }),
    );
    const outcomes = Promise.allSettled(calls);
    await new Promise((resolve) => setTimeout(resolve, 100));
    holder.release();
    reserved.release();
    for (const { status } of await outcomes) expect(status).toBe("rejected");
    for (const resource of ["r0", "r1"]) {
      expect(await nodeOver().inspect(resource)).toEqual({ owner: null, remainingMs: null, fence: 0 });
    }
    await small.end();
    await sql.end();
  });
});

test("acquire() rejects, and the process lives on, when the server ends a connection in the packet that opens it", async () => {
  const ended = createServer((socket) => {
    socket.once("data", () => {
      const message = (type: string, body: Buffer): Buffer => {
        const head = Buffer.alloc(5);
        head.write(type, 0);
        head.writeInt32BE(body.length + 4, 1);
        return Buffer.concat([head, body]);
      };
      const authenticated = message("R", Buffer.from([0, 0, 0, 0]));
      const ready = message("Z", Buffer.from("I"));
      const fields = "SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0";
      socket.end(Buffer.concat([authenticated, ready, message("E", Buffer.from(fields))]));
    });
    socket.on("error", () => {});
  });
  await once(ended.listen(0, "127.0.0.1"), "listening");
  const { port } = ended.address() as AddressInfo;
  const own = new pg.Pool({ connectionString: `postgres://holdfast@127.0.0.1:${port}/postgres` });
  own.on("error", () => {});
  await expect(nodeOver(own).acquire(claim("alice", "r"))).rejects.toThrow("connection error");
  await own.end();
  ended.close();
});

describe("one server for several nodes", () => {
  const other = new pg.Pool({ connectionString: connectionString.replace("127.0.0.1", "localhost"), max: 1 });
  afterAll(() => other.end());

  test("acquire() rejects if two nodes of a Redlock are on one server, in whatever table", async () => {
    const nodes = [
      nodeOver(pool, { name: "a", table }),
      nodeOver(other, { name: "b", table: await freshTable(connectionString) }),
    ];
    const acquiring = new Redlock(nodes, { waitTimeoutMs: 60_000, nodeTimeoutMs: 5_000 }).acquire("r");
    await expect(acquiring).rejects.toBeInstanceOf(ConfigurationError);
    await expect(acquiring).rejects.toThrow(
      /[ab] failed: it is the same server as [ab] \(system_identifier \d+, started at/,
    );
  });

  test("acquire() locks there with verifyServer: false, and if the user may not ask for the identity", async () => {
    const unverified = { table, verifyServer: false };
    const redlock = new Redlock([
      nodeOver(pool, { ...unverified, name: "a" }),
      nodeOver(other, { ...unverified, name: "b", table: await freshTable(connectionString) }),
    ]);
    await (await redlock.acquire("r")).release();
    await pool.query("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM public");
    await pool.query("CREATE ROLE curious LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO curious");
    const curious = new pg.Pool({ connectionString: connectionString.replace(/\/\/[^@/]*@?/, "//curious@"), max: 1 });
    let queries = 0;
    curious.on("acquire", () => queries++);
    try {
      const options = { name: "c", table };
      const denied = nodeOver(curious, options);
      const servers = new Map();
      for (const owner of ["x", "y", "z"]) await denied.acquire({ ...claim(owner, owner), servers });
      expect(queries).toBe(4); // asked once
      await (
        await new Redlock([denied, nodeOver(pool, { ...options, name: "d" })], { nodeTimeoutMs: 5_000 }).acquire("s")
      ).release();
    } finally {
      await curious.end();
      await pool.query("GRANT EXECUTE ON FUNCTION pg_control_system() TO public");
    }
  });
});

test("acquire() beside other nodes works again after a connection that hangs while it opens", async () => {
  const held = new Set<Socket>();
  const port = Number(new URL(connectionString).port);
  const network = createServer((socket) => {
    socket.on("error", () => {});
    held.add(socket);
    if (held.size > 1)
      socket
        .pipe(connect(port, "127.0.0.1"))
        .on("error", () => {})
        .pipe(socket);
  });
  await once(network.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    for (const socket of held) socket.destroy();
    network.close();
  });
  const { port: ownPort } = network.address() as AddressInfo;
  const through = new pg.Pool({ connectionString: connectionString.replace(/:\d+\//, `:${ownPort}/`) });
  through.on("error", () => {});
  const node = nodeOver(through, { table, wakeUps: false });
  const beside = () => node.acquire({ ...claim("a", "r"), timeoutMs: 200, servers: new Map() });
  await expect(beside()).rejects.toThrow("could not identify the server: no answer within 200 ms");
  expect(await beside()).toMatchObject({ granted: true });
});

describe("lost connections", () => {
  const lossy = async () => {
    const proxy = await startTcpProxy({ port: Number(new URL(connectionString).port) });
    onTestFinished(() => proxy.close());
    const through = new pg.Pool({ connectionString: connectionString.replace(/:\d+\//, `:${proxy.port}/`), max: 1 });
    through.on("error", () => {});
    onTestFinished(() => through.end());
    let attempts = 0;
    const counted: PostgresClient = {
      get totalCount() {
        return through.totalCount;
      },
      connect(callback) {
        attempts += 1;
        through.connect(callback);
      },
    };
    return { proxy, node: nodeOver(counted, { table, wakeUps: false }), attempts: () => attempts };
  };

  test("release() goes on until the server is back", async () => {
    const { proxy, node, attempts } = await lossy();
    expect(await node.acquire(claim("a", "r"))).toMatchObject({ granted: true });
    await proxy.stop();
    const before = attempts();
    const releasing = node.release({ resources: ["r"], owner: "a", timeoutMs: 60_000 });
    await expect.poll(attempts).toBeGreaterThan(before + 3);
    await proxy.start();
    expect(await releasing).toEqual({ released: true });
  });

  test("release() rejects after its timeout, tried twice at least", async () => {
    const { proxy, node, attempts } = await lossy();
    await node.acquire(claim("a", "r"));
    await proxy.stop();
    const before = attempts();
    await expect(node.release({ resources: ["r"], owner: "a", timeoutMs: 0.001 })).rejects.toThrow("ECONNREFUSED");
    expect(attempts()).toBe(before + 2);
  });
});

describe("waits", () => {
  test("inspect() reads a resource that was only watched", async () => {
    const node = nodeOver();
    await node.watch?.(["r"], () => {});
    expect(await node.inspect("r")).toEqual({ owner: null, remainingMs: null, fence: 0 });
  });

  test("acquire() over postgres.js leaves the connection usable if it opens after the timeout", async () => {
    const sql = postgres(connectionString, { max: 1, fetch_types: false, onnotice: () => {} });
    const node = nodeOver(sql);
    await expect(node.acquire({ ...claim("alice", "r"), timeoutMs: 0.1 })).rejects.toThrow("no connection was free");
    expect((await node.acquire(claim("bob", "r"))).granted).toBe(true);
    await sql.end();
  });

  test.each(["pg", "postgres.js"])(
    "acquire() over %s accepts a timeout that no timer can wait for",
    async (library) => {
      const sql = postgres(connectionString, { max: 1, fetch_types: false, onnotice: () => {} });
      const node = nodeOver(library === "pg" ? pool : sql);
      for (const timeout of [2 ** 31, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY]) {
        const resource = `r${timeout}`;
        expect((await node.acquire({ ...claim("alice", resource), timeoutMs: timeout })).granted).toBe(true);
      }
      await sql.end();
    },
  );

  test("deleteUnused() accepts the longest time", async () => {
    expect(await nodeOver().deleteUnused({ unusedForMs: Number.MAX_SAFE_INTEGER })).toBe(0);
  });

  test("acquire() closes no connection because the server speaks another language", async () => {
    const own = new pg.Pool({ connectionString, max: 1 });
    const { rows } = await own.query("SELECT pg_backend_pid() AS pid");
    own.on("acquire", (client) => {
      const query = client.query.bind(client) as (...given: unknown[]) => Promise<unknown> | undefined;
      const translated = (...given: unknown[]) =>
        query(...given)?.catch((error) => {
          throw Object.assign(error, { severity: "FEHLER" });
        });
      Object.assign(client, { query: translated });
    });
    const node = nodeOver(own);
    const blocker = await pool.connect();
    await node.acquire({ ...claim("alice", "r"), ttlMs: 1 });
    await expect.poll(async () => (await node.inspect("r")).owner).toBeNull();
    await blocker.query(`BEGIN; SELECT FROM "${table}" FOR UPDATE`);
    expect(await node.acquire({ ...claim("bob", "r"), timeoutMs: 200 })).toMatchObject({ granted: false });
    await blocker.query("COMMIT");
    blocker.release();
    expect((await own.query("SELECT pg_backend_pid() AS pid")).rows).toEqual(rows);
    await own.end();
  });

  test("close() ends although the server hangs", async () => {
    const node = postgresNode(pool, { table });
    await node.watch?.(["r"], () => {});
    const listening = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";
    const pids: number[] = (await pool.query(listening)).rows.map(({ pid }) => pid);
    expect(pids).not.toEqual([]);
    for (const pid of pids) process.kill(pid, "SIGSTOP");
    try {
      await node.close();
    } finally {
      for (const pid of pids) process.kill(pid, "SIGCONT");
    }
  });
});

describe("errors", () => {
  const misconfigured: [string, string, string][] = [
    ["the table is missing", "missing", "does not exist: create it with createTable() or holdfast create-table"],
    ["the table has other columns", "other", "has other columns than that of createTable(): name another one"],
    ["the user may not write", "forbidden", "is forbidden to this user: SELECT, INSERT and UPDATE are needed"],
  ];
  test.each(misconfigured)("acquire() rejects with a ConfigurationError if %s", async (_, name, message) => {
    await pool.query(`DROP TABLE IF EXISTS other, forbidden; DROP ROLE IF EXISTS nobody;
      CREATE TABLE other (name text); CREATE ROLE nobody LOGIN; ${createTable({ table: "forbidden" })}`);
    const user = new pg.Pool({ connectionString: connectionString.replace("//holdfast@", "//nobody@") });
    const node = nodeOver(name === "forbidden" ? user : pool, { table: name });
    const redlock = new Redlock([node]);
    const failed = redlock.acquire("r");
    await expect(failed).rejects.toThrow(ConfigurationError);
    await expect(failed).rejects.toThrow(`"public"."${name}" ${message}`);
    await expect(node.acquire(claim("alice", "a", "b"))).rejects.toThrow(message);
    await user.end();
  });

  test("acquire() rejects with a ConfigurationError if the database does not exist, or the user may not log in", async () => {
    for (const [from, to] of [["/postgres", "/none"] as const, ["//holdfast@", "//none:secret@"] as const]) {
      const wrong = new pg.Pool({ connectionString: connectionString.replace(from, to) });
      const failed = nodeOver(wrong).acquire(claim("alice", "r"));
      await expect(failed).rejects.toThrow(ConfigurationError);
      await expect(failed).rejects.toThrow(/^the server refuses the connection: .* does not exist$/);
      await expect(failed).rejects.not.toThrow("secret");
      await wrong.end();
    }
  });
});

describe("names", () => {
  test("a long name and one that spells its digest after a backslash are different resources", async () => {
    const prefix = `${"a".repeat(933)}\\`;
    const long = `${prefix}${"b".repeat(200)}`;
    const digest = createHash("sha256").update(JSON.stringify(long).slice(1, -1)).digest("hex");
    expect((await nodeOver().acquire(claim("alice", long, `${prefix}#${digest}`))).granted).toBe(true);
  });

  test("a long name, and names that end in a digest, are different resources", async () => {
    const node = nodeOver();
    const random = Array.from({ length: 400 }, () => crypto.randomUUID()).join("");
    const names = [random, `${random}x`, random.slice(0, 1_001), random.slice(0, 1_000), random.slice(0, 999)];
    const { rows } = await pool.query<{ name: string }>(`SELECT name FROM "${table}"`);
    expect(rows).toEqual([]);
    for (const name of names) expect((await node.acquire(claim("alice", name))).granted).toBe(true);
    const stored = (await pool.query<{ name: string }>(`SELECT name FROM "${table}"`)).rows;
    expect(stored).toHaveLength(names.length);
    for (const { name } of stored) expect((await node.acquire(claim("bob", name))).granted).toBe(!names.includes(name));
  });

  test.each(["LATIN1", "SQL_ASCII"])(
    "names and owners of all characters are kept in a database in %s",
    async (encoding) => {
      await pool.query(`CREATE DATABASE "in ${encoding}" ENCODING '${encoding}' LOCALE 'C' TEMPLATE template0`);
      const own = new pg.Pool({ connectionString: connectionString.replace("/postgres", `/in ${encoding}`) });
      await own.query(createTable());
      const node = nodeOver(own, {});
      const names = ["日本", "😀", "\0", "\ud800", "ä", "\\u00e4", '"', "\\", "{a,b}", "it's"];
      for (const name of names)
        expect(await node.acquire(claim(name, name)), name).toEqual({ granted: true, fence: 1 });
      for (const name of names) expect((await node.inspect(name)).owner).toBe(name);
      expect(await node.acquire({ ...claim("all", ...names), resources: names.sort() })).toMatchObject({
        granted: false,
      });
      await own.end();
    },
  );
});

describe("notifications", () => {
  /** Listens to all messages of the node's channel. */
  async function heard(): Promise<{ messages: string[]; end(): Promise<void> }> {
    const { rows } = await pool.query<{ query: string }>("SELECT query FROM pg_stat_activity WHERE query ~ '^LISTEN'");
    const client = new pg.Client(connectionString);
    await client.connect();
    const messages: string[] = [];
    client.on("notification", ({ payload = "" }) => messages.push(payload));
    await client.query(rows[0]?.query ?? "LISTEN nothing");
    return { messages, end: () => client.end() };
  }

  /** Waits until a message that was sent now has arrived. */
  async function settled(messages: string[]): Promise<void> {
    const { rows } = await pool.query<{ query: string }>("SELECT query FROM pg_stat_activity WHERE query ~ '^LISTEN'");
    await pool.query(`SELECT pg_notify('${rows[0]?.query.slice("LISTEN ".length)}', 'settled')`);
    await expect.poll(() => messages.includes("settled")).toBe(true);
  }

  test("release() notifies only if somebody waits for the resource", async () => {
    const node = nodeOver();
    const unwatch = await node.watch?.(["watched"], () => {});
    const { messages, end } = await heard();
    for (const resource of ["watched", "other"]) {
      await node.acquire(claim("alice", resource));
      await node.release({ resources: [resource], owner: "alice", timeoutMs });
    }
    await node.acquire(claim("alice", "awaited"));
    await node.acquire({ ...claim("bob", "awaited"), waiter: "bob's process" });
    await node.release({ resources: ["awaited"], owner: "alice", undo: true, timeoutMs });
    await settled(messages);
    expect(messages).toHaveLength(2);
    await node.acquire(claim("alice", "awaited"));
    await node.release({ resources: ["awaited"], owner: "alice", timeoutMs });
    await expect.poll(() => messages.at(-1)).toMatch(/^[0-9a-f]{64}bob's process$/);
    await unwatch?.();
    await end();
  });

  test.each(["pg", "postgres.js"])("watch() over %s goes on when its connection was closed", async (library) => {
    const sql = postgres(connectionString, { onnotice: () => {} });
    const node = nodeOver(library === "pg" ? pool : sql);
    const released: string[] = [];
    const unwatch = await node.watch?.(["r"], (resource) => released.push(resource));
    for (let round = 1; round <= 2; round++) {
      await pool.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~* '^listen'");
      await expect
        .poll(async () => {
          await node.acquire(claim("alice", "r"));
          await node.release({ resources: ["r"], owner: "alice", timeoutMs });
          return released.length;
        })
        .toBeGreaterThan(0);
      released.length = 0;
    }
    await unwatch?.();
    await sql.end();
  });

  test("watch() uses a connection of its own, and closes it with the node", async () => {
    const own = new pg.Pool({ connectionString: `${connectionString}?application_name=own`, max: 1 });
    const node = nodeOver(own);
    const unwatch = await node.watch?.(["r"], () => {});
    const lock = await new Redlock([node]).acquire("r"); // the only connection of the pool is free
    expect(await count("pg_stat_activity WHERE application_name = 'own' AND query ~ '^LISTEN'")).toBe(1);
    await node.close();
    await expect.poll(() => count("pg_stat_activity WHERE application_name = 'own'")).toBe(1);
    await expect(node.watch?.(["r"], () => {})).rejects.toThrow("the node is closed");
    await lock.release();
    await unwatch?.();
    await own.end();
  });

  test("acquire() and watch() reject after close(), extend() and release() do not", async () => {
    const node = nodeOver();
    await node.acquire(claim("a", "r"));
    await node.close();
    const isClosed = "the node is closed";
    await expect(new Redlock([node]).acquire("s", { waitTimeoutMs: 60_000 })).rejects.toThrow(
      `postgres failed: ${isClosed}: create another one`,
    );
    await expect(node.watch?.(["r"], () => {})).rejects.toThrow(isClosed);
    const again = { resources: ["r"], owner: "a", ttlMs: 60_000, fence: 1, rejoin: false, timeoutMs };
    expect(await node.extend(again)).toMatchObject({ held: true });
    expect(await node.release(again)).toEqual({ released: true });
  });

  test("a process that only watches ends by itself", async () => {
    const script = `
      import { postgresNode } from "@holdfast/postgres";
      import pg from "pg";
      const pool = new pg.Pool({ connectionString: ${JSON.stringify(connectionString)} });
      const node = postgresNode(pool, { table: ${JSON.stringify(table)} });
      await node.watch(["r"], () => {});
      await node.close();
      await pool.end();
    `;
    const program = await bundleProgram(join(import.meta.dirname, "watch-and-leave.ts"), script);
    const child = fork(program, [], { execArgv: [], stdio: "pipe" });
    const [code] = await once(child, "exit");
    expect(code).toBe(0);
  });
});

describe("deleteUnused()", () => {
  const dayMs = 24 * 3_600_000;

  test("deleteUnused() deletes only rows that nobody has claimed or awaited for the time", async () => {
    const node = nodeOver();
    for (const name of ["old", "older", "held", "awaited", "recent"]) await node.acquire(claim("alice", name));
    await pool.query(`UPDATE "${table}" SET owner = NULL WHERE name <> 'held'`);
    await pool.query(
      `UPDATE "${table}" SET until = now() - interval '3 days' WHERE name IN ('old', 'older', 'awaited')`,
    );
    await pool.query(`UPDATE "${table}" SET waiting_until = now() + interval '9 s' WHERE name = 'awaited'`);
    expect(await node.deleteUnused({ unusedForMs: 4 * dayMs })).toBe(0);
    expect(await node.deleteUnused({ unusedForMs: 2 * dayMs })).toBe(2);
    expect(await node.deleteUnused({ unusedForMs: 2 * dayMs })).toBe(0);
    const { rows } = await pool.query(`SELECT name FROM "${table}" WHERE name <> '' ORDER BY name`);
    expect(rows.map(({ name }) => name)).toEqual(["awaited", "held", "recent"]);
  });

  test("deleteUnused() lowers no counter: the next fence of every deleted or new resource is above all deleted", async () => {
    const node = nodeOver();
    for (const [name, fenceHint] of [["a", 700] as const, ["b", 500] as const]) {
      await node.acquire({ ...claim("alice", name), fenceHint });
    }
    await pool.query(`UPDATE "${table}" SET owner = NULL, until = now() - interval '3 days'`);
    expect(await node.deleteUnused({ unusedForMs: dayMs })).toBe(2);
    expect(await node.acquire(claim("bob", "b"))).toEqual({ granted: true, fence: 701 });
    expect(await node.acquire(claim("bob", "a", "c"))).toEqual({ granted: true, fence: 701, uniform: true });
    const request = { resources: ["d"], owner: "bob", ttlMs: 1_000, fence: 1, rejoin: true, timeoutMs };
    expect(await node.extend(request)).toEqual({ held: false, rejoined: true });
    expect(await node.extend(request)).toEqual({ held: true, fence: 701 });
    // A later deletion of lower counters leaves the highest in place.
    await pool.query(`INSERT INTO "${table}" (name, until, fence) VALUES ('low', now() - interval '3 days', 5)`);
    expect(await node.deleteUnused({ unusedForMs: dayMs })).toBe(1);
    expect(await node.acquire(claim("bob", "low"))).toEqual({ granted: true, fence: 701 });
  });

  test.each([{}, { unusedForMs: 0 }, { unusedForMs: 59_999 }, { unusedForMs: "1" }, { days: 1 }])(
    "deleteUnused() refuses %o",
    async (options) => {
      await expect(nodeOver().deleteUnused(options as never)).rejects.toThrow(/must be|is not an option/);
    },
  );
});
