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

/** Rejects if a clause is not kept. Uses only locks whose names begin with `name`, and leaves none behind. */
type Trial = (locks: Locks, name: string) => Promise<void>;

/** A clause and its trial. */
export interface Clause {
  /** The anchor of the section in https://w3c.github.io/web-locks/. */
  readonly section: string;
  /** The sentence that must be true. */
  readonly fact: string;
  /** Undefined unless `@holdfast/web-locks` does not keep the clause: what it does instead. */
  readonly notKept: string | undefined;
  readonly trial: Trial;
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

/** The trials of the clauses, by section and fact. */
const trials: Readonly<Record<string, Readonly<Record<string, Trial>>>> = {
  "resource-names": {
    async 'request() rejects a name that begins with "-" with a NotSupportedError, and accepts all well-formed others'(
      locks,
      name,
    ) {
      equal(await rejection(locks.request("-", noop)), "NotSupportedError");
      equal(await rejection(locks.request(`-${name}`, noop)), "NotSupportedError");
      equal(await locks.request(`${name}-`, () => 1), 1);
      equal(await locks.request("", () => 2), 2);
      equal(await locks.request(`${name} – ü 🔒 \0\n*`, () => 3), 3);
    },
    async "request() accepts a name that is not well-formed Unicode, and leaves it as it is"(locks, name) {
      const both = await locks.request(`${name}\ud800`, (outer: { name: string }) =>
        locks.request(`${name}\ufffd`, (inner: { name: string }) => [outer.name, inner.name]),
      );
      equal(both, [`${name}\ud800`, `${name}\ufffd`]);
    },
  },
  "modes-scheduling": {
    async "request() has the mode exclusive by default"(locks, name) {
      equal(await locks.request(name, (lock: { mode: string }) => lock.mode), "exclusive");
      equal(await locks.request(name, {}, (lock: { mode: string }) => lock.mode), "exclusive");
      equal(await locks.request(name, { mode: undefined }, (lock: { mode: string }) => lock.mode), "exclusive");
    },
  },
  "concept-lock": {
    async "request() holds the lock only during a callback that is not asynchronous"(locks, name) {
      equal(await locks.request(name, () => "value"), "value");
      equal(await isFree(locks, name), true);
    },
  },
  "api-lock-manager-request": {
    async "request() rejects with a TypeError for arguments that cannot be converted, and throws nothing"(locks, name) {
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
    async "request() converts the name to a string, flags to booleans, absent options to none, and ignores unknown ones"(
      locks,
      name,
    ) {
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
    async "request() rejects options that exclude each other with a NotSupportedError: steal, ifAvailable, signal, shared"(
      locks,
      name,
    ) {
      const { signal } = new AbortController();
      const wrong = [{ ifAvailable: true }, { mode: "shared" }, { signal }].map((options) => ({
        ...options,
        steal: true,
      }));
      for (const options of [...wrong, { signal, ifAvailable: true }]) {
        equal(await rejection(locks.request(name, options, noop)), "NotSupportedError");
      }
    },
    async "request() rejects with the reason of a signal that has aborted, after all other checks"(locks, name) {
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
    async "request() returns before it calls the callback"(locks, name) {
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
    async "request() settles with the result of the callback"(locks, name) {
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
  "algorithm-abort-request": {
    async "signal ends a wait: the request rejects with its reason and leaves the queue"(locks, name) {
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
    async "signal that ends a wait lets the requests behind it share the lock at once"(locks, name) {
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
  "algorithm-process-request": {
    async "signal has no effect once the lock is granted"(locks, name) {
      const controller = new AbortController();
      const holder = await holding(locks, name, { signal: controller.signal });
      controller.abort();
      equal(await isFree(locks, name), false);
      equal(await holder.finish("done"), "done");
    },
    async "signal that aborts in the turn of the request ends it, and no callback runs"(locks, name) {
      const log: string[] = [];
      const controller = new AbortController();
      const request = hold(locks, name, { signal: controller.signal }, "called", log);
      controller.abort();
      equal(await rejection(request.result), "AbortError");
      await locks.request(name, noop);
      equal(log, []);
    },
  },
  "algorithm-request-lock": {
    async "ifAvailable calls back with null behind a request that waits, even if the lock could be shared"(
      locks,
      name,
    ) {
      const reader = await holding(locks, name, shared);
      equal(await isFree(locks, name, "shared"), true);
      const writer = hold(locks, name);
      equal(await isFree(locks, name, "shared"), false);
      reader.end();
      await writer.finish();
    },
    async "steal in the turn of an earlier request does not overtake it: both get the lock, and the thief keeps it"(
      locks,
      name,
    ) {
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
  "api-lock-manager-query": {
    async "query() lists what is held and, in order, what is requested, with name, mode and clientId"(locks, name) {
      const holder = await holding(locks, name, shared);
      const waiting = [hold(locks, name), hold(locks, name, shared), hold(locks, name)];
      await lists(locks, name, ["shared"], ["exclusive", "shared", "exclusive"]);
      const { held, pending: requests } = await locks.query();
      const ids = new Set([...held, ...requests].filter((info) => info.name === name).map(({ clientId }) => clientId));
      equal([ids.size, typeof [...ids][0]], [1, "string"]);
      await finishInTurn([holder, ...waiting]);
    },
    async "query() does not list a lock that was released or stolen, nor a request that was aborted"(locks, name) {
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
  "algorithm-snapshot-state": {
    async "query() in the turn of a request lists its lock, even if the callback ends at once"(locks, name) {
      const requests = [locks.request(name, noop), locks.request(name, noop)];
      await lists(locks, name, ["exclusive"], ["exclusive"]);
      await Promise.all(requests);
      await lists(locks, name, [], []);
    },
    async "query() does not list what is requested later in its turn, nor what happens then"(locks, name) {
      const holder = hold(locks, name, shared);
      const listed = lists(locks, name, ["shared"], []);
      const later = [hold(locks, name, shared), hold(locks, name, { steal: true })];
      await listed;
      equal(await rejection(holder.result), "AbortError");
      await later[1]?.finish();
      for (const { end } of [holder, ...later]) end();
    },
  },
  "api-lock": {
    async "the callback gets a lock with the name and the mode of the request"(locks, name) {
      const facts = ({ name: given, mode }: { name: string; mode: string }) => [given, mode];
      equal(await locks.request(name, facts), [name, "exclusive"]);
      equal(await locks.request(name, shared, facts), [name, "shared"]);
    },
  },
};

/** What `@holdfast/web-locks` does instead of the clauses that it does not keep. */
const notKept: Readonly<Record<string, string>> = {
  "request() accepts a name that is not well-formed Unicode, and leaves it as it is":
    "request() rejects with a TypeError, because servers store names as UTF-8, which has no lone surrogates",
};

export const clauses: readonly Clause[] = Object.entries(trials).flatMap(([section, facts]) =>
  Object.entries(facts).map(([fact, trial]) => ({ section, fact, notKept: notKept[fact], trial })),
);
