import { readmeExamples } from "@holdfast/docs-testkit";
import { expect, test } from "vitest";
import { replaceCalls } from "../../src/migrate/api.ts";
import { applyEdits, Source } from "../../src/migrate/source.ts";

/** Returns the new text, and what is left. */
function moved(code: string): { code: string; left: string[] } {
  const { edits, left } = replaceCalls(new Source(code, "file.ts"));
  return { code: applyEdits(code, edits), left: left.map(({ line, reason }) => `${line}: ${reason}`) };
}

const newImports = 'import { Redlock } from "@holdfast/core";\nimport { ioredisNode } from "@holdfast/ioredis";';
const nodes = 'clients.map((client) => ioredisNode(client, { prefix: "" }))';

/** Returns the code under a heading of a migration guide. */
async function guide(page: string, heading: string): Promise<string> {
  const examples = await readmeExamples(new URL(`../../../../docs/migrating/${page}.md`, import.meta.url));
  return examples.find((example) => example.heading === heading)?.code ?? "";
}

test("moves the code of the guide from redlock 4", async () => {
  expect(moved(await guide("from-redlock", "Version 4"))).toEqual({
    left: [],
    code: `import { Redis } from "ioredis";
${newImports}

const clients = [7001, 7002, 7003].map((port) => new Redis({ port }));
const redlock = new Redlock(${nodes}, { waitTimeoutMs: 2_000 });

const lock = await redlock.acquire(["invoice:42"], { ttlMs: 10_000 });
try {
  console.log("alone with invoice:42");
  await lock.extend({ ttlMs: 10_000 });
} finally {
  await lock.release();
}
await redlock.close();
for (const client of clients) client.disconnect();`,
  });
});

test("moves the code of the guide from redlock 5", async () => {
  expect(moved(await guide("from-redlock", "Version 5"))).toEqual({
    left: [],
    code: `import { Redis } from "ioredis";
${newImports}

const clients = [7001, 7002, 7003].map((port) => new Redis({ port }));
const redlock = new Redlock(${nodes}, { waitTimeoutMs: 2_000 });

await redlock.using(["invoice:42"], { ttlMs: 10_000 }, async ({ signal }) => {
  if (signal.aborted) throw signal.reason;
  console.log("alone with invoice:42");
});
await redlock.close();
for (const client of clients) client.disconnect();`,
  });
});

test("moves the code of the guide from redis-semaphore", async () => {
  expect(moved(await guide("from-redis-semaphore", "Before"))).toEqual({
    left: [],
    code: `import { Redis } from "ioredis";
${newImports}

const clients = [7001, 7002, 7003].map((port) => new Redis({ port }));
const mutex = new Redlock(clients.map((client) => ioredisNode(client, { prefix: "mutex:" })), { ttlMs: 10_000, autoExtend: true, observer: { lost: ({ error }) => console.error(error) } });

const mutexLock = await mutex.acquire("invoice:42");
try {
  console.log("alone with invoice:42");
} finally {
  await mutexLock.release();
}
for (const client of clients) client.disconnect();`,
  });
});

test.each([
  [
    "from-sesamecare-redlock",
    "Before",
    "1: its locks are in the database db, whatever that of the clients: move without --api",
  ],
  ["from-redis-semaphore", "A semaphore before", "2: RedlockMultiSemaphore has no counterpart that fits everywhere"],
])("leaves the code of %s.md under %s", async (page, heading, reason) => {
  const code = await guide(page, heading);
  expect(moved(code)).toEqual({ code, left: [reason] });
});

test("moves a lock that extensions replace, other names, and what is written unusually", () => {
  const code = `import Locks from 'redlock'
const redis = make(), locks = new Locks([ redis ], {retryCount: -1}) // forever
async function f() {
    let held = await locks.acquire([ 'a', "b" ], 1e3)
    held = await held.extend(  5000 )
    log(held.value)
    await held.release()
    return locks.using(["c"], ms, s => { if (s.aborted) throw s.error; get({ signal: s }) })
}`;
  expect(moved(code)).toEqual({
    left: [],
    code: `import { Redlock } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
const redis = make(), locks = new Redlock([ redis ].map((client) => ioredisNode(client, { prefix: "" })), { waitTimeoutMs: Infinity }) // forever
async function f() {
    let held = await locks.acquire([ 'a', "b" ], { ttlMs: 1e3 })
    await held.extend(  { ttlMs: 5000 } )
    log(held.owner)
    await held.release()
    return locks.using(["c"], { ttlMs: ms }, ({ signal: s }) => { if (s.aborted) throw s.reason; get({ signal: s }) })
}`,
  });
});

test("moves clients that may be any iterable, a single mutex, and an asynchronous onLockLost", () => {
  const code =
    'import Redlock from "redlock";\nconst redlock = new Redlock(clients, { retryDelay: 100, driftFactor: 0.02 });';
  expect(moved(code).code).toContain(
    'new Redlock([...clients].map((client) => ioredisNode(client, { prefix: "" })), { waitTimeoutMs: 1_000, driftFactor: 0.02 });',
  );
  const mutex = `import { Mutex } from "redis-semaphore";
const m = new Mutex(redis, "k", { acquireTimeout: 500, onLockLost: async (e) => ({ e: await f(e) }) });
await m.acquire();
await m.release();`;
  expect(moved(mutex)).toEqual({
    left: [],
    code: `${newImports}
const m = new Redlock([ioredisNode(redis, { prefix: "mutex:" })], { waitTimeoutMs: 500, autoExtend: true, observer: { lost: async ({ error: e }) => ({ e: await f(e) }) } });
const mLock = await m.acquire("k");
await mLock.release();`,
  });
});

type Row = [what: string, code: string, reason: string];

/** Puts the same lines before each of these codes. */
const after = (lines: string, ...rows: readonly Row[]) =>
  rows.map(([what, code, reason]): Row => [what, lines + code, reason]);
const imported = 'import Redlock from "redlock";\n';
const created = `${imported}const redlock = new Redlock(clients);\n`;
const held = `${created}let l = await redlock.acquire(["a"], 5);\n`;
const mutex = 'import { Mutex } from "redis-semaphore";\n';

test.each<Row>([
  ["require", 'const Redlock = require("redlock");', "1: only import declarations are moved"],
  ["an imported error", 'import Redlock, { ExecutionError } from "redlock";', "1: ExecutionError has no counterpart"],
  ...after(
    imported,
    ["an exported Redlock", "export const r = new Redlock(c);", "2: other files use"],
    ["a Redlock in a field", "class A { r = new Redlock(c); }", "2: only a const"],
    ["settings from elsewhere", "const r = new Redlock(c, settings);", "2: the settings are not"],
    ["another setting", "const r = new Redlock(c, { retryJitter: 1 });", "2: retryJitter has no"],
    ["computed settings", "const r = new Redlock(c, { retryCount: n });", "2: retryCount has no"],
    ["a comment that would be lost", "const r = new Redlock(c, {}/* 1 */);", "2: a comment"],
  ),
  ...after(
    created,
    ["another import of it", 'export * from "redlock";', "3: this file imports old libraries twice"],
    ["a Redlock that is passed on", "f(redlock);", "3: redlock is used other than by calling its methods"],
    ["a list of exports", "export { redlock };", "3: redlock is used other than by calling its methods"],
    ["events", 'redlock.on("error", log);', "3: on() has no counterpart"],
    ["a shadowed Redlock", "function f(redlock) {}", "3: redlock is declared more than once"],
    ["a shadowed lock", 'const l = await redlock.acquire(["a"], 1);\n{ const l = 1; }', "4: l is declared more"],
    ["settings of a call", 'const l = await redlock.acquire(["a"], 1, { retryCount: 0 });', "3: settings of a call"],
    ["a lock that is returned", 'const f = () => redlock.acquire(["a"], 1);', "3: only a lock that is awaited"],
    ["a routine from elsewhere", 'await redlock.using(["a"], 1, routine);', "3: the routine is not written here"],
    ["a typed signal", 'await redlock.using(["a"], 1, async (s: Signal) => {});', "3: this parameter is no plain"],
    ["a signal that is passed on", 'await redlock.using(["a"], 1, (s) => work(s));', "3: the signal is passed on"],
    ["quit() in an expression", "await Promise.all([redlock.quit()]);", "3: quit() also closes the clients"],
    ["a name that is taken", "const ioredisNode = 1;", "3: the name ioredisNode is taken"],
    [
      "the name of an error",
      'try {} catch (e) { if (is(e, "ExecutionError")) f(); }',
      "3: ExecutionError has another name",
    ],
    ["a caught error that is read", "try {} catch (e) { log(e.message); }", "3: core has errors with another message"],
    [
      "a rejection that is read",
      'redlock.using(["a"], 1, f).catch((e) => e.attempts);',
      "3: core has errors with another",
    ],
    ["a parameter of catch that takes fields", "try {} catch ({ name }) {}", "3: this reads an error"],
  ),
  ...after(
    held,
    ["a lock that is passed on", "f(l);", "4: l is used other than by"],
    ["a field of a lock", "f(l.expiration);", "4: l is used other than by"],
    ["a lock that another replaces", "l = other;", "4: this replaces a lock"],
    ["a result of a release", "l.release().catch(log);", "4: the result of this"],
    ["an extension that may shorten the lock", "await l.extend(4);", "4: this may shorten the lock"],
    ["extensions that differ", "await l.extend(9);\nawait l.extend(6);", "5: this may shorten the lock"],
  ),
  ...after(
    mutex,
    [
      "a mutex for each call",
      'function f() {\n  const m = new Mutex(c, "k", { onLockLost: (e) => f(e) });\n}',
      "3: each call of this function would open a connection",
    ],
    ["a mutex without onLockLost", 'const m = new Mutex(c, "k");', "2: onLockLost is not written here"],
    ["a mutex with another key", "const m = new Mutex(c, key);", "2: the key is no literal"],
    [
      "a mutex that is tried",
      'const m = new Mutex(c, "k", { onLockLost: (e) => f(e) });\nif (await m.tryAcquire()) f();',
      "2: the first use",
    ],
  ),
])("leaves %s, and the whole file", (_, code, reason) => {
  const outcome = moved(code);
  expect(outcome.code).toBe(code);
  expect(outcome.left).toEqual([expect.stringContaining(reason)]);
});

test("does nothing in a file without old libraries", () => {
  expect(moved('import { Redlock } from "@holdfast/core"; new Redlock([]);').left).toEqual([]);
});
