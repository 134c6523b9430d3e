/** The tests of `holds` that every database must pass whose transactions can hold a lock. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { type Lock, type LockNode, type Observer, Redlock, type RedlockOptions } from "@holdfast/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bundleProgram } from "./bundle-program.ts";

/** What names a lock. */
type Held = Pick<Lock, "resources" | "owner" | "fence">;

/** A node over a database. */
type HoldingNode<Client> = LockNode &
  Required<Pick<LockNode, "inspect">> & { holds(client: Client, lock: Held): Promise<boolean> };

/** A database, over which each test has a fresh node. */
export interface HoldingDatabase<Client, Node extends HoldingNode<Client> = HoldingNode<Client>> {
  /** Creates the node of a test. */
  open(): Promise<Node>;
  /** Ends what the test has opened. */
  close(): Promise<unknown>;
  /** Runs a step in a transaction, which is rolled back if the step fails. */
  inTransaction<T>(step: (client: Client) => Promise<T>, begin?: string): Promise<T>;
  /** Runs a statement by itself, and resolves with its rows. */
  query(statement: string): Promise<readonly unknown[]>;
  /** Ends the claims of all owners now, shared ones included, and locks no other row. */
  expire(): Promise<void>;
  /** The query that counts, as `n`, the requests that wait for a transaction; undefined if all are denied at once. */
  readonly countWaiting?: string;
  /** How transactions can begin, by what a test says of them. */
  readonly begins: Readonly<Record<string, string | undefined>>;
  /** A table with an identifier that counts, and the column `writer`. */
  readonly createWritten: string;
  /** The program `paused-holder`, and its first arguments. */
  readonly pausedHolder: URL;
  pausedHolderArguments(): string[];
}

/** What the tests of one file share: each has a lock on two invoices. */
export interface HoldingTest<Client, Node extends HoldingNode<Client> = HoldingNode<Client>> {
  readonly node: Node;
  readonly redlock: Redlock;
  readonly lock: Lock;
}

/** For a busy machine: no test is about a server that takes long. */
const patient = { nodeTimeoutMs: 5_000 };

/** Opens the node of each test, and takes its lock. The members of the result are those of the running test. */
export function holdingTests<Client, Node extends HoldingNode<Client>>(
  database: HoldingDatabase<Client, Node>,
): HoldingTest<Client, Node> {
  const current = {} as { node: Node; redlock: Redlock; lock: Lock };
  beforeEach(async () => {
    current.node = await database.open();
    current.redlock = new Redlock([current.node], patient);
    current.lock = await current.redlock.acquire(["invoice:41", "invoice:42"], { ttlMs: 60_000 });
  });
  afterEach(async () => {
    await current.redlock.close();
    await database.close();
  });
  return current;
}

/** Tests what is true of `holds` in every database. */
export function describeHolds<Client>(database: HoldingDatabase<Client>, current: HoldingTest<Client>): void {
  describeAnswers(database, current);
  describeProtection(database, current);
  describe("holds() of shared locks", () => {
    const readers = twoReaders(database, current);
    describeReaders(database, current, readers);
    describeWriters(database, current, readers);
  });
  testPause(database, current);
}

/** Returns how to ask in a transaction, and another client, which tries often, and how to wait until it has. */
function toolsFor<Client>(database: HoldingDatabase<Client>, current: HoldingTest<Client>) {
  const { query, countWaiting } = database;
  let attempts = 0;
  const observer: Observer = {
    attemptSettled() {
      attempts += 1;
    },
  };
  return {
    holds: (lock: Held) => database.inTransaction((client) => current.node.holds(client, lock)),
    openRival: (options: RedlockOptions = {}) =>
      new Redlock([current.node], { ...patient, waitTimeoutMs: 60_000, retryDelayMaxMs: 30, observer, ...options }),
    /** Resolves once a request of a rival waits for the transaction, or requests were denied again and again. */
    async rivalIsKeptOut(): Promise<void> {
      const before = attempts;
      if (countWaiting !== undefined) await expect.poll(() => query(countWaiting)).toEqual([{ n: 1 }]);
      else await expect.poll(() => attempts).toBeGreaterThan(before + 2);
    },
  };
}

function describeAnswers<Client>(database: HoldingDatabase<Client>, current: HoldingTest<Client>): void {
  const { holds } = toolsFor(database, current);

  test("holds() resolves with whether all resources are held, under the owner and the fence of the lock", async () => {
    expect(await holds(current.lock)).toBe(true);
    const { owner, fence } = current.lock;
    expect(await holds({ resources: ["invoice:42"], owner, fence })).toBe(true);
  });

  const others: [string, (lock: Lock) => Promise<Partial<Held>>][] = [
    ["with another owner", async () => ({ owner: "another" })],
    ["with an older fence", async ({ fence }) => ({ fence: fence - 1 })],
    ["with a newer fence", async ({ fence }) => ({ fence: fence + 1 })],
    ["on more resources", async ({ resources }) => ({ resources: [...resources, "more"] })],
    ["that was released", (lock) => lock.release().then(() => ({}))],
    ["whose ttl has ended", () => database.expire().then(() => ({}))],
  ];
  test.each(others)("holds() resolves with false for a lock %s", async (_, change) => {
    const { resources, owner, fence } = current.lock;
    expect(await holds({ resources, owner, fence, ...(await change(current.lock)) })).toBe(false);
  });
}

function describeProtection<Client>(database: HoldingDatabase<Client>, current: HoldingTest<Client>): void {
  const { openRival, rivalIsKeptOut } = toolsFor(database, current);

  type End = [title: string, end: () => Promise<void>, begin: string | undefined];
  const ends: End[] = [
    ["the lock is released meanwhile", () => current.lock.release(), undefined],
    ...Object.entries(database.begins).map(
      ([title, begin]): End => [`the ttl ends meanwhile${title}`, database.expire, begin],
    ),
  ];
  test.each(ends)("holds() keeps others out until the transaction ends, although %s", async (_, end, begin) => {
    const { node, lock } = current;
    const rival = openRival();
    let waiting: Promise<Lock> | undefined;
    const order: string[] = [];
    await database.inTransaction(async (client) => {
      expect(await node.holds(client, lock)).toBe(true);
      await end();
      for (const resource of lock.resources) expect(await rival.tryAcquire(resource)).toBeNull();
      waiting = rival.acquire(lock.resources).finally(() => order.push("the rival has the lock"));
      await rivalIsKeptOut();
      order.push("the transaction ends");
    }, begin);
    const next = (await waiting) as Lock;
    expect(order).toEqual(["the transaction ends", "the rival has the lock"]);
    expect(next.fence).toBeGreaterThan(lock.fence);
    await next.release();
  });

  test("holds() lets the holder extend and release the lock during the transaction", async () => {
    const { node, lock } = current;
    await database.inTransaction(async (client) => {
      expect(await node.holds(client, lock)).toBe(true);
      await lock.extend({ ttlMs: 120_000 });
      expect(lock.remainingMs()).toBeGreaterThan(60_000);
      const { owner, fence } = lock;
      const one = { resources: ["invoice:41"], owner, ttlMs: 120_000, fence, rejoin: false, timeoutMs: 1_000 };
      expect(await node.extend(one)).toEqual({ held: true, fence });
      await lock.release();
    });
    expect((await node.inspect("invoice:42")).owner).toBeNull();
  });

  test("holds() keeps the lock from a node that rejoins, until the transaction ends", async () => {
    const { node, lock } = current;
    const { resources, fence } = lock;
    const request = { resources, owner: "late", ttlMs: 1_000, fence, rejoin: true, timeoutMs: 200 };
    await database.inTransaction(async (client) => {
      await node.holds(client, lock);
      await database.expire();
      expect(await node.extend(request)).toEqual({ held: false, rejoined: false });
    });
    expect(await node.extend(request)).toEqual({ held: false, rejoined: true });
  });
}

const shared = { mode: "shared", ttlMs: 60_000 } as const;

/** Lets two readers share a resource. The result has those of the running test. */
function twoReaders<Client>(
  database: HoldingDatabase<Client>,
  current: HoldingTest<Client>,
): [first: Lock, second: Lock] {
  const readers = [] as unknown as [Lock, Lock];
  beforeEach(async () => {
    await current.lock.release();
    const open = () => toolsFor(database, current).openRival().acquire("invoice:42", shared);
    Object.assign(readers, await Promise.all([open(), open()]));
  });
  return readers;
}

function describeWriters<Client>(
  database: HoldingDatabase<Client>,
  current: HoldingTest<Client>,
  readers: readonly [Lock, Lock],
): void {
  const { openRival, rivalIsKeptOut } = toolsFor(database, current);
  const ends: [string, () => Promise<unknown>][] = [
    ["their ttl ends", database.expire],
    ["they are released", () => Promise.all(readers.map((reader) => reader.release()))],
  ];
  test.each(ends)(
    "holds() lets several readers hold, and keeps a writer out until the last one ends, although %s",
    async (_, end) => {
      const { node } = current;
      const writer = openRival();
      let waiting: Promise<Lock> | undefined;
      let isWriting = false;
      await database.inTransaction(async (first) => {
        await database.inTransaction(async (second) => {
          expect(await node.holds(first, readers[0])).toBe(true);
          expect(await node.holds(second, readers[1])).toBe(true);
          await end();
          expect(await writer.tryAcquire("invoice:42")).toBeNull();
        });
        waiting = writer.acquire("invoice:42").finally(() => {
          isWriting = true;
        });
        await rivalIsKeptOut();
        expect(isWriting).toBe(false);
      });
      const next = (await waiting) as Lock;
      expect(next.fence).toBeGreaterThan(Math.max(...readers.map(({ fence }) => fence)));
      await next.release();
    },
  );

  test("holds() of a writer keeps readers out until the transaction ends, although the ttl ends meanwhile", async () => {
    const { node, redlock } = current;
    for (const reader of readers) await reader.release();
    const writer = await redlock.acquire("invoice:42");
    const reader = openRival(shared);
    const more = ["invoice:41", "invoice:42"];
    await database.inTransaction(async (client) => {
      expect(await node.holds(client, writer)).toBe(true);
      await database.expire();
      expect(await reader.tryAcquire("invoice:42")).toBeNull();
      expect(await reader.tryAcquire(more)).toBeNull();
      const { resources, owner, fence } = writer;
      const rejoin = { resources, ttlMs: 1_000, fence, rejoin: true, timeoutMs: 200, shared: true };
      expect(await node.extend({ ...rejoin, owner: `${owner} late` })).toEqual({ held: false, rejoined: false });
    });
    expect(await reader.tryAcquire(more)).not.toBeNull();
  });
}

function describeReaders<Client>(
  database: HoldingDatabase<Client>,
  current: HoldingTest<Client>,
  readers: readonly [Lock, Lock],
): void {
  const { holds, openRival } = toolsFor(database, current);

  test("holds() does not keep further readers from joining", async () => {
    await database.inTransaction(async (client) => {
      expect(await current.node.holds(client, readers[0])).toBe(true);
      const reader = await openRival().acquire("invoice:42", shared);
      expect(reader.fence).toBe(readers[0].fence);
      await reader.extend();
      expect(await holds(reader)).toBe(true);
      await reader.release();
    });
  });

  test("holds() resolves with true for a reader although another one has raised the counter since", async () => {
    const both = await openRival().acquire(["invoice:42", "new"], shared);
    expect(both.fence).toBeGreaterThan(readers[0].fence);
    expect(await holds(readers[0])).toBe(true);
    expect(await holds(both)).toBe(true);
  });

  test("holds() resolves with false for a reader that has ended, and for one whose owner joined later", async () => {
    const [first, second] = readers;
    await first.release();
    expect(await holds(first)).toBe(false);
    expect(await holds(second)).toBe(true);
    await database.expire();
    expect(await holds(second)).toBe(false);
    await (await current.redlock.acquire("invoice:42")).release(); // a writer
    const { resources, owner, fence } = first;
    const again = { resources, owner, ttlMs: 60_000, fenceHint: 1, timeoutMs: 1_000, shared: true };
    expect(await current.node.acquire(again)).toMatchObject({ granted: true }); // a late copy
    expect(await holds(first)).toBe(false);
    expect(await holds({ resources, owner, fence: fence + 10 ** 15 })).toBe(false);
  });
}

function testPause<Client>(database: HoldingDatabase<Client>, current: HoldingTest<Client>): void {
  const { openRival, rivalIsKeptOut } = toolsFor(database, current);
  test("a process that is paused across its ttl, in a transaction that holds the lock, commits before its rival locks", async () => {
    await database.query(database.createWritten);
    await current.lock.release();
    const program = await bundleProgram(database.pausedHolder);
    const holder = fork(program, [...database.pausedHolderArguments(), "1500"], { execArgv: [] });
    try {
      const [held] = (await once(holder, "message")) as [{ fence: number; holds: boolean }];
      expect(held.holds).toBe(true);
      holder.kill("SIGSTOP");
      await expect.poll(async () => (await current.node.inspect("invoice:42")).owner).toBeNull(); // the ttl has ended
      const rival = openRival();
      expect(await rival.tryAcquire("invoice:42")).toBeNull();
      const waiting = rival.acquire("invoice:42").then(async (next) => {
        await database.query("INSERT INTO written (writer) VALUES ('second')");
        return next;
      });
      await rivalIsKeptOut();
      expect(await database.query("SELECT writer FROM written")).toEqual([]);
      holder.kill("SIGCONT");
      holder.send("go on");
      const [later] = (await once(holder, "message")) as [{ remainingMs: number; holdsLater: boolean }];
      expect(later).toEqual({ remainingMs: 0, holdsLater: false });
      expect((await waiting).fence).toBeGreaterThan(held.fence);
      const rows = await database.query("SELECT writer FROM written ORDER BY id");
      expect(rows).toMatchObject([{ writer: "first" }, { writer: "second" }]);
    } finally {
      holder.kill("SIGKILL");
    }
  });
}
