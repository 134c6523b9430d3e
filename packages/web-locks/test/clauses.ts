/**
 * The clauses of the Web Locks API that a program can observe, each with a trial that any lock manager must pass: ours,
 * and those of browsers, Deno and Node. The trials use nothing but web globals, so that they run everywhere.
 */
import type { LockMode, LockManager as OurLockManager } from "../src/types.ts";

/** What the trials need of a lock manager: less than any has. */
export type Locks = Pick<OurLockManager, "query"> & {
  // biome-ignore lint/suspicious/noExplicitAny: some trials pass wrong arguments
  request(...args: any[]): Promise<any>;
};

/** A clause and its trial. */
export interface Clause {
  /** The anchor of the section in https://w3c.github.io/web-locks/. */
  readonly section: string;
  /** The sentence that must be true. */
  readonly fact: string;
  /** Present if `@holdfast/web-locks` does not keep the clause: what it does instead. */
  readonly notKept?: string;
  /** Rejects if it is not. Uses only locks whose names begin with `name`, and leaves none behind. */
  trial(locks: Locks, name: string): Promise<void>;
}

interface Options {
  readonly mode?: LockMode;
  readonly ifAvailable?: boolean;
  readonly signal?: AbortSignal;
  readonly steal?: boolean;
}

/** Throws unless both have the same JSON. */
function equal(actual: unknown, wanted: unknown): void {
  const [got, expected] = [JSON.stringify(actual), JSON.stringify(wanted)];
  if (got !== expected) throw new Error(`wanted ${expected}, got ${got}`);
}

/** Returns the name of the error with which a promise rejects. */
async function rejection(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return (error as Error).name;
  }
  return "none";
}

/** Requests a lock, and holds it until `end` or `finish` is called. `log` receives the label when the callback runs. */
function hold(locks: Locks, name: string, options: Options = {}, label = "", log: string[] = []) {
  let end: (value?: unknown) => void = () => {};
  let called: (lock: unknown) => void = () => {};
  const ended = new Promise((resolve) => {
    end = resolve;
  });
  const granted = new Promise<{ name: string; mode: string } | null>((resolve) => {
    called = resolve as typeof called;
  });
  const result = locks.request(name, options, async (lock: unknown) => {
    log.push(label);
    called(lock);
    return ended;
  });
  result.catch(() => {}); // a trial looks at it later
  /** Waits for the lock, ends the callback, and returns the result of the request. */
  const finish = async (value?: unknown): Promise<unknown> => {
    await granted;
    end(value);
    return result;
  };
  return { granted, end, result, finish };
}

/** Requests a lock like {@link hold}, and waits until it is granted. */
async function holding(...given: Parameters<typeof hold>) {
  const holder = hold(...given);
  await holder.granted;
  return holder;
}

/** Waits for locks in turn, and ends each one before the next. */
async function finishInTurn(holders: readonly ReturnType<typeof hold>[]): Promise<void> {
  for (const { finish } of holders) await finish();
}

/** Whether a lock would be granted now. */
function isFree(locks: Locks, name: string, mode: LockMode = "exclusive"): Promise<boolean> {
  return locks.request(name, { mode, ifAvailable: true }, (lock: unknown) => lock !== null);
}

/** Throws unless `query()`, called once and in this turn, lists these modes for the name. */
async function lists(locks: Locks, name: string, held: LockMode[], pending: LockMode[]): Promise<void> {
  const state = await locks.query();
  const modes = (list: typeof state.held) => list.filter((info) => info.name === name).map(({ mode }) => mode);
  equal({ held: modes(state.held), pending: modes(state.pending) }, { held, pending });
}

const shared = { mode: "shared" } as const;
const noop = () => {};

export const clauses: readonly Clause[] = [
  {
    section: "resource-names",
    fact: 'request() rejects a name that begins with "-" with a NotSupportedError, and accepts all well-formed others',
    async trial(locks, name) {
      equal(await rejection(locks.request("-", noop)), "NotSupportedError");
      equal(await rejection(locks.request(`-${name}`, noop)), "NotSupportedError");
      equal(await locks.request(`${name}-`, () => 1), 1);
      equal(await locks.request("", () => 2), 2);
      equal(await locks.request(`${name} – ü 🔒 \0\n*`, () => 3), 3);
    },
  },
  {
    section: "resource-names",
    fact: "request() accepts a name that is not well-formed Unicode, and leaves it as it is",
    notKept: "request() rejects with a TypeError, because servers store names as UTF-8, which has no lone surrogates",
    async trial(locks, name) {
      const both = await locks.request(`${name}\ud800`, (outer: { name: string }) =>
        locks.request(`${name}\ufffd`, (inner: { name: string }) => [outer.name, inner.name]),
      );
      equal(both, [`${name}\ud800`, `${name}\ufffd`]);
    },
  },
  {
    section: "modes-scheduling",
    fact: "request() grants no lock of a name while an exclusive one is held",
    async trial(locks, name) {
      const holder = await holding(locks, name);
      equal([await isFree(locks, name), await isFree(locks, name, "shared")], [false, false]);
      await holder.finish();
      equal(await isFree(locks, name), true);
    },
  },
  {
    section: "modes-scheduling",
    fact: "request() grants shared locks together, and no exclusive one meanwhile",
    async trial(locks, name) {
      const holders = [hold(locks, name, shared), hold(locks, name, shared), hold(locks, name, shared)];
      await lists(locks, name, ["shared", "shared", "shared"], []);
      equal([await isFree(locks, name), await isFree(locks, name, "shared")], [false, true]);
      for (const holder of holders) holder.end();
      await Promise.all(holders.map(({ result }) => result));
      equal(await isFree(locks, name), true);
    },
  },
  {
    section: "modes-scheduling",
    fact: "request() has the mode exclusive by default",
    async trial(locks, name) {
      equal(await locks.request(name, (lock: { mode: string }) => lock.mode), "exclusive");
      equal(await locks.request(name, {}, (lock: { mode: string }) => lock.mode), "exclusive");
      equal(await locks.request(name, { mode: undefined }, (lock: { mode: string }) => lock.mode), "exclusive");
    },
  },
  {
    section: "modes-scheduling",
    fact: "request() grants locks of different names independently",
    async trial(locks, name) {
      const result = await locks.request(`${name} 1`, () => locks.request(`${name} 2`, () => "both"));
      equal(result, "both");
    },
  },
  {
    section: "concept-lock",
    fact: "request() holds the lock until the promise of the callback fulfils",
    async trial(locks, name) {
      const log: string[] = [];
      const first = hold(locks, name, {}, "first", log);
      const second = hold(locks, name, {}, "second", log);
      await lists(locks, name, ["exclusive"], ["exclusive"]);
      await first.granted;
      equal(log, ["first"]);
      equal(await first.finish("done"), "done");
      await second.finish();
    },
  },
  {
    section: "concept-lock",
    fact: "request() settles after the lock is released",
    async trial(locks, name) {
      for (let round = 0; round < 5; round++) {
        await locks.request(name, async () => {});
        equal(await isFree(locks, name), true);
      }
    },
  },
  {
    section: "concept-lock",
    fact: "request() settles after the next requests got the lock",
    async trial(locks, name) {
      const writer = hold(locks, name);
      const readers = [hold(locks, name, shared), hold(locks, name, shared)];
      const next = hold(locks, name);
      await writer.finish();
      await lists(locks, name, ["shared", "shared"], ["exclusive"]);
      for (const { end } of readers) end();
      await Promise.all(readers.map(({ result }) => result));
      await lists(locks, name, ["exclusive"], []);
      await next.finish();
    },
  },
  {
    section: "concept-lock",
    fact: "request() holds the lock only during a callback that is not asynchronous",
    async trial(locks, name) {
      equal(await locks.request(name, () => "value"), "value");
      equal(await isFree(locks, name), true);
    },
  },
  {
    section: "grantable",
    fact: "request() grants exclusive locks in the order of the requests",
    async trial(locks, name) {
      const log: string[] = [];
      const requests = ["1", "2", "3", "4"].map((label) => hold(locks, name, {}, label, log));
      await finishInTurn(requests);
      equal(log, ["1", "2", "3", "4"]);
    },
  },
  {
    section: "grantable",
    fact: "request() lets a shared request wait behind an exclusive one, even while shared locks are held",
    async trial(locks, name) {
      const log: string[] = [];
      const reader = await holding(locks, name, shared, "reader", log);
      const writer = hold(locks, name, {}, "writer", log);
      const late = hold(locks, name, shared, "late reader", log);
      await lists(locks, name, ["shared"], ["exclusive", "shared"]);
      equal(log, ["reader"]);
      await reader.finish();
      await lists(locks, name, ["exclusive"], ["shared"]);
      await writer.granted;
      equal(log, ["reader", "writer"]);
      writer.end();
      await late.finish();
    },
  },
  {
    section: "grantable",
    fact: "request() lets an exclusive request wait for all shared locks, and grants shared ones in a row together",
    async trial(locks, name) {
      const log: string[] = [];
      const writer = hold(locks, name, {}, "writer", log);
      const readers = ["1", "2"].map((label) => hold(locks, name, shared, label, log));
      const next = hold(locks, name, {}, "next", log);
      await writer.finish();
      await lists(locks, name, ["shared", "shared"], ["exclusive"]);
      await Promise.all(readers.map(({ granted }) => granted));
      equal(log, ["writer", "1", "2"]);
      await readers[1]?.finish();
      await lists(locks, name, ["shared"], ["exclusive"]);
      equal(log.length, 3);
      readers[0]?.end();
      await next.finish();
    },
  },
  {
    section: "api-lock-manager-request",
    fact: "request() rejects with a TypeError for arguments that cannot be converted, and throws nothing",
    async trial(locks, name) {
      const signal = {} as AbortSignal;
      const calls: (() => Promise<unknown>)[] = [
        () => locks.request(),
        () => locks.request(name),
        () => locks.request(name, {}),
        () => locks.request(name, "shared", noop),
        () => locks.request(name, 1, noop),
        () => locks.request(name, {}, {}),
        () => locks.request(name, noop, {}),
        () => locks.request(name, { mode: "foo" }, noop),
        () => locks.request(name, { mode: null }, noop),
        () => locks.request(name, { mode: "" }, noop),
        () => locks.request(name, { signal }, noop),
        () => locks.request(name, { signal: null }, noop),
        () => locks.request(Symbol("name"), noop),
      ];
      for (const [index, call] of calls.entries()) equal([index, await rejection(call())], [index, "TypeError"]);
    },
  },
  {
    section: "api-lock-manager-request",
    fact: "request() converts the name to a string, flags to booleans, absent options to none, and ignores unknown ones",
    async trial(locks, name) {
      const nameOf = (lock: { name: string }) => lock.name;
      equal([await locks.request(null, nameOf), await locks.request(42, nameOf)], ["null", "42"]);
      equal(await locks.request(undefined, nameOf), "undefined");
      for (const options of [undefined, null, {}, noop, { timeout: 1 }, { ifAvailable: 0, steal: "" }]) {
        equal(await locks.request(name, options, nameOf), name);
      }
      const holder = await holding(locks, name);
      equal(await locks.request(name, { ifAvailable: "yes" }, (lock: unknown) => lock), null);
      await holder.finish();
    },
  },
  {
    section: "api-lock-manager-request",
    fact: "request() rejects options that exclude each other with a NotSupportedError: steal, ifAvailable, signal, shared",
    async trial(locks, name) {
      const { signal } = new AbortController();
      const wrong = [{ ifAvailable: true }, { mode: "shared" }, { signal }].map((options) => ({
        ...options,
        steal: true,
      }));
      for (const options of [...wrong, { signal, ifAvailable: true }]) {
        equal(await rejection(locks.request(name, options, noop)), "NotSupportedError");
      }
    },
  },
  {
    section: "api-lock-manager-request",
    fact: "request() rejects with the reason of a signal that has aborted, after all other checks",
    async trial(locks, name) {
      const signal = AbortSignal.abort(new RangeError("mine"));
      let calls = 0;
      const count = () => {
        calls += 1;
      };
      equal(await rejection(locks.request(name, { signal }, count)), "RangeError");
      equal(await rejection(locks.request(name, { signal: AbortSignal.abort() }, count)), "AbortError");
      equal(await rejection(locks.request("-", { signal }, count)), "NotSupportedError");
      equal(await rejection(locks.request(name, { signal, steal: true }, count)), "NotSupportedError");
      equal(await rejection(locks.request("-", { mode: "foo" }, count)), "TypeError");
      equal(await rejection(locks.request(name, { signal }, "count")), "TypeError");
      equal(calls, 0);
    },
  },
  {
    section: "api-lock-manager-request",
    fact: "request() returns before it calls the callback",
    async trial(locks, name) {
      const log: string[] = [];
      const granted = locks.request(name, () => log.push("lock"));
      log.push("returned");
      await granted;
      const holder = hold(locks, name);
      const refused = locks.request(name, { ifAvailable: true }, () => log.push("null"));
      log.push("returned");
      await refused;
      await holder.finish();
      equal(log, ["returned", "lock", "returned", "null"]);
    },
  },
  {
    section: "api-lock-manager-request",
    fact: "request() settles with the result of the callback",
    async trial(locks, name) {
      equal(await locks.request(name, async () => ({ a: 1 })), { a: 1 });
      // biome-ignore lint/suspicious/noThenProperty: any thenable counts
      equal(await locks.request(name, () => ({ then: (resolve: (value: number) => void) => resolve(7) })), 7);
      const thrower = () => {
        throw new RangeError("mine");
      };
      equal(await rejection(locks.request(name, thrower)), "RangeError");
      equal(await rejection(locks.request(name, () => Promise.reject(new RangeError("mine")))), "RangeError");
      equal(await isFree(locks, name), true);
    },
  },
  {
    section: "algorithm-abort-request",
    fact: "signal ends a wait: the request rejects with its reason and leaves the queue",
    async trial(locks, name) {
      const log: string[] = [];
      const controller = new AbortController();
      const holder = await holding(locks, name, {}, "holder", log);
      const waiting = hold(locks, name, { signal: controller.signal }, "aborted", log);
      const behind = hold(locks, name, {}, "behind", log);
      await lists(locks, name, ["exclusive"], ["exclusive", "exclusive"]);
      controller.abort(new RangeError("mine"));
      equal(await rejection(waiting.result), "RangeError");
      await lists(locks, name, ["exclusive"], ["exclusive"]);
      holder.end();
      await behind.finish();
      equal(log, ["holder", "behind"]);
      equal(await isFree(locks, name), true);
    },
  },
  {
    section: "algorithm-abort-request",
    fact: "signal that ends a wait lets the requests behind it share the lock at once",
    async trial(locks, name) {
      const controller = new AbortController();
      const reader = await holding(locks, name, shared);
      const writer = hold(locks, name, { signal: controller.signal });
      const behind = hold(locks, name, shared);
      await lists(locks, name, ["shared"], ["exclusive", "shared"]);
      controller.abort();
      equal(await rejection(writer.result), "AbortError");
      await lists(locks, name, ["shared", "shared"], []);
      reader.end();
      behind.end();
      await Promise.all([reader.result, behind.result]);
    },
  },
  {
    section: "algorithm-process-request",
    fact: "signal has no effect once the lock is granted",
    async trial(locks, name) {
      const controller = new AbortController();
      const holder = await holding(locks, name, { signal: controller.signal });
      controller.abort();
      equal(await isFree(locks, name), false);
      equal(await holder.finish("done"), "done");
    },
  },
  {
    section: "algorithm-process-request",
    fact: "signal that aborts in the turn of the request ends it, and no callback runs",
    async trial(locks, name) {
      const log: string[] = [];
      const controller = new AbortController();
      const request = hold(locks, name, { signal: controller.signal }, "called", log);
      controller.abort();
      equal(await rejection(request.result), "AbortError");
      await locks.request(name, noop);
      equal(log, []);
    },
  },
  {
    section: "algorithm-request-lock",
    fact: "ifAvailable gets a free lock, and holds it like any other",
    async trial(locks, name) {
      const holder = hold(locks, name, { ifAvailable: true });
      equal((await holder.granted)?.name, name);
      equal(await isFree(locks, name), false);
      equal(await holder.finish("done"), "done");
      equal(await isFree(locks, name), true);
    },
  },
  {
    section: "algorithm-request-lock",
    fact: "ifAvailable calls back with null, and settles with the result, if the lock is held",
    async trial(locks, name) {
      const holder = await holding(locks, name);
      const thrower = (lock: unknown) => {
        throw lock === null ? new RangeError("mine") : new Error("granted");
      };
      equal(await locks.request(name, { ifAvailable: true }, async (lock: unknown) => [lock]), [null]);
      equal(await rejection(locks.request(name, { ifAvailable: true }, thrower)), "RangeError");
      await holder.finish();
    },
  },
  {
    section: "algorithm-request-lock",
    fact: "ifAvailable calls back with null behind a request that waits, even if the lock could be shared",
    async trial(locks, name) {
      const reader = await holding(locks, name, shared);
      equal(await isFree(locks, name, "shared"), true);
      const writer = hold(locks, name);
      equal(await isFree(locks, name, "shared"), false);
      reader.end();
      await writer.finish();
    },
  },
  {
    section: "algorithm-request-lock",
    fact: "ifAvailable calls back with the lock for the first of two requests in one turn, and precedes later requests",
    async trial(locks, name) {
      const log: string[] = [];
      const first = hold(locks, name, { ifAvailable: true }, "first", log);
      const second = hold(locks, name, { ifAvailable: true });
      const third = hold(locks, name, {}, "third", log);
      equal([(await first.granted) !== null, await second.granted], [true, null]);
      second.end();
      first.end();
      await third.finish();
      equal(log, ["first", "third"]);
    },
  },
  {
    section: "algorithm-request-lock",
    fact: "ifAvailable without a lock holds nothing while its callback runs",
    async trial(locks, name) {
      const holder = await holding(locks, name);
      const refused = hold(locks, name, { ifAvailable: true });
      equal(await refused.granted, null);
      await holder.finish();
      equal(await isFree(locks, name), true);
      await refused.finish();
    },
  },
  {
    section: "algorithm-request-lock",
    fact: "steal gets a held lock: the request of the holder rejects with an AbortError, while its callback goes on",
    async trial(locks, name) {
      const log: string[] = [];
      const holder = await holding(locks, name, {}, "holder", log);
      const thief = hold(locks, name, { steal: true }, "thief", log);
      equal((await thief.granted)?.mode, "exclusive");
      equal(await rejection(holder.result), "AbortError");
      holder.end(); // has no effect: the thief keeps the lock
      equal(await isFree(locks, name), false);
      equal(await thief.finish("done"), "done");
      equal(log, ["holder", "thief"]);
      equal(await isFree(locks, name), true);
    },
  },
  {
    section: "algorithm-request-lock",
    fact: "steal takes the lock from all that share it",
    async trial(locks, name) {
      const readers = [hold(locks, name, shared), hold(locks, name, shared)];
      await Promise.all(readers.map(({ granted }) => granted));
      const thief = await holding(locks, name, { steal: true });
      for (const { result } of readers) equal(await rejection(result), "AbortError");
      for (const { end } of readers) end();
      equal(await isFree(locks, name, "shared"), false);
      await thief.finish();
    },
  },
  {
    section: "algorithm-request-lock",
    fact: "steal passes the requests that wait, which keep their order",
    async trial(locks, name) {
      const log: string[] = [];
      const holder = await holding(locks, name, {}, "holder", log);
      const waiting = ["1", "2"].map((label) => hold(locks, name, {}, label, log));
      const thief = hold(locks, name, { steal: true }, "thief", log);
      const last = hold(locks, name, {}, "last", log);
      await lists(locks, name, ["exclusive"], ["exclusive", "exclusive", "exclusive"]);
      await finishInTurn([thief, ...waiting, last]);
      equal(log, ["holder", "thief", "1", "2", "last"]);
      holder.end();
    },
  },
  {
    section: "algorithm-request-lock",
    fact: "steal in the turn of an earlier request does not overtake it: both get the lock, and the thief keeps it",
    async trial(locks, name) {
      const log: string[] = [];
      for (const options of [{}, shared, { ifAvailable: true }]) {
        const first = hold(locks, name, options, "first", log);
        const thief = hold(locks, name, { steal: true }, "thief", log);
        const last = hold(locks, name, shared, "last", log);
        await lists(locks, name, ["exclusive"], ["shared"]);
        equal(await rejection(first.result), "AbortError");
        await thief.granted;
        equal(log.splice(0), ["first", "thief"]);
        await finishInTurn([thief, last]);
        equal(log.splice(0), ["last"]);
        first.end();
      }
    },
  },
  {
    section: "algorithm-request-lock",
    fact: "steal in the turn of earlier ones takes the lock from the last of them",
    async trial(locks, name) {
      const log: string[] = [];
      const thieves = ["1", "2", "3"].map((label) => hold(locks, name, { steal: true }, label, log));
      const last = hold(locks, name, {}, "last", log);
      await lists(locks, name, ["exclusive"], ["exclusive"]);
      await thieves[2]?.granted;
      equal(log, ["1", "2", "3"]);
      const outcomes = thieves.slice(0, 2).map(({ result }) => rejection(result));
      equal(await Promise.all(outcomes), ["AbortError", "AbortError"]);
      await finishInTurn([thieves[2] as (typeof thieves)[0], last]);
      for (const { end } of thieves) end();
    },
  },
  {
    section: "algorithm-request-lock",
    fact: "steal gets a free lock, and can be stolen from in turn",
    async trial(locks, name) {
      const log: string[] = [];
      const first = hold(locks, name, { steal: true }, "first", log);
      const second = await holding(locks, name, { steal: true }, "second", log);
      equal(await rejection(first.result), "AbortError");
      await second.finish();
      equal(log, ["first", "second"]);
      first.end();
    },
  },
  {
    section: "api-lock-manager-query",
    fact: "query() lists what is held and, in order, what is requested, with name, mode and clientId",
    async trial(locks, name) {
      const holder = await holding(locks, name, shared);
      const waiting = [hold(locks, name), hold(locks, name, shared), hold(locks, name)];
      await lists(locks, name, ["shared"], ["exclusive", "shared", "exclusive"]);
      const { held, pending: requests } = await locks.query();
      const ids = new Set([...held, ...requests].filter((info) => info.name === name).map(({ clientId }) => clientId));
      equal([ids.size, typeof [...ids][0]], [1, "string"]);
      await finishInTurn([holder, ...waiting]);
    },
  },
  {
    section: "api-lock-manager-query",
    fact: "query() does not list a lock that was released or stolen, nor a request that was aborted",
    async trial(locks, name) {
      const controller = new AbortController();
      const holder = await holding(locks, name);
      const aborted = hold(locks, name, { signal: controller.signal });
      await lists(locks, name, ["exclusive"], ["exclusive"]);
      controller.abort();
      equal(await rejection(aborted.result), "AbortError");
      const thief = await holding(locks, name, { steal: true });
      await lists(locks, name, ["exclusive"], []);
      await thief.finish();
      await lists(locks, name, [], []);
      holder.end();
    },
  },
  {
    section: "algorithm-snapshot-state",
    fact: "query() in the turn of a request lists its lock, even if the callback ends at once",
    async trial(locks, name) {
      const requests = [locks.request(name, noop), locks.request(name, noop)];
      await lists(locks, name, ["exclusive"], ["exclusive"]);
      await Promise.all(requests);
      await lists(locks, name, [], []);
    },
  },
  {
    section: "algorithm-snapshot-state",
    fact: "query() does not list what is requested later in its turn, nor what happens then",
    async trial(locks, name) {
      const holder = hold(locks, name, shared);
      const listed = lists(locks, name, ["shared"], []);
      const later = [hold(locks, name, shared), hold(locks, name, { steal: true })];
      await listed;
      equal(await rejection(holder.result), "AbortError");
      await later[1]?.finish();
      for (const { end } of [holder, ...later]) end();
    },
  },
  {
    section: "api-lock",
    fact: "the callback gets a lock with the name and the mode of the request",
    async trial(locks, name) {
      const facts = ({ name: given, mode }: { name: string; mode: string }) => [given, mode];
      equal(await locks.request(name, facts), [name, "exclusive"]);
      equal(await locks.request(name, shared, facts), [name, "shared"]);
    },
  },
];
