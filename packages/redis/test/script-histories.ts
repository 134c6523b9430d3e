import fc from "fast-check";
import type { Redis } from "ioredis";
import { channelPrefix, fenceKey, floorKey, sharersKey, waitingListKey } from "../src/keys.ts";

/*
 * Random histories of the lock script. Each is played in several ways on one server, with separate keys: with records of
 * the short paths (`acquire-one` and `release-one`), with records of the general path instead, and with one call per
 * operation. Replies, keys, messages and the order of writes must be the same.
 */

const resources = ["a", "b", "c"] as const;
const owners = ["alice", "bob", "carol"] as const;
const waiters = ["first", "second"] as const;
const hourUs = 3_600_000_000;
/** The score of a waiter of a shared request that enqueued at a counter of 0. */
const sharedSince = -(2 ** 53);

/** Tolerance for times that are read one after another. All times in histories are further apart. */
const toleranceMs = 20_000;
const ttlsMs = [60_000, 600_000] as const;
const keptMs = [0, 200_000, 1_000_000, 4_000_000] as const;
const livesMs = [-1, 120_000, 10_000_000] as const;

type Resource = (typeof resources)[number];
type Part = "lock" | "fence" | "list" | "sharers";
const parts: readonly Part[] = ["lock", "fence", "list", "sharers"];

/** A fence: a number, or a time in hours relative to the server's clock at the start of the history. */
type Fence = number | { readonly hours: number };

/** One operation of a call. `acquire` and `release` have a short path. */
export type ScriptOperation =
  | { do: "acquire"; resource: Resource; owner: string; hint: Fence; ttlMs: number; keepMs: number; epoch: number }
  | { do: "release"; resource: Resource; owner: string }
  | {
      do: "acquire in general";
      resources: Resource[];
      owner: string;
      hint: Fence;
      ttlMs: number;
      keepMs: number;
      epoch: number;
      takeover: string;
      shared: boolean;
      waiter: string;
    }
  | {
      do: "extend";
      resources: Resource[];
      owner: string;
      fence: Fence;
      ttlMs: number;
      keepMs: number;
      rejoin: boolean;
      shared: boolean;
    }
  | { do: "release in general"; resources: Resource[]; owner: string; isAnnounced: boolean; waiter: string }
  | { do: "inspect"; resource: Resource }
  | { do: "identify"; resource: Resource };

/** A call, or a change to keys or to the server between calls. */
export type ScriptStep =
  | { do: "write"; part: "lock" | "fence" | "list"; resource: Resource; value: string | null; lifeMs: number }
  | { do: "floor"; value: string | null }
  | { do: "break"; part: Part; resource: Resource }
  | { do: "drop"; part: Part; resource: Resource }
  | { do: "wait"; resource: Resource; waiter: string; since: number }
  | { do: "memory"; isFull: boolean }
  | { do: "call"; operations: ScriptOperation[]; givenUp: number[]; isGuarded: boolean };

const anyResource = fc.constantFrom(...resources);
const anyOwner = fc.constantFrom(...owners);
const anyWaiter = fc.constantFrom("", ...waiters);
const anyTtlMs = fc.constantFrom(...ttlsMs);
const anyMode = fc.boolean();
const anyEpoch = fc.constantFrom(1, 2, 3);
const anyKeepMs = fc.constantFrom(...keptMs);
const severalResources = fc.uniqueArray(anyResource, { minLength: 1, maxLength: 3 }).map((names) => names.sort());
const largest = Number.MAX_SAFE_INTEGER;
const anyFence: fc.Arbitrary<Fence> = fc.oneof(
  fc.constantFrom(1, 7, 500, 10 ** 15, -5, 0, 2 ** 52 - 1, 2 ** 52, largest - 1, largest),
  fc.constantFrom(-1, 0, 23, 25, 1_000).map((hours) => ({ hours })),
);
/** Valid counters, including the largest, and invalid ones. */
const anyCounter = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("1", "6", "7", "8", "499", "0", "007", "01") },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...[2 ** 52 - 2, 2 ** 52 - 1, 2 ** 52, largest - 2, largest - 1, largest].map(String)),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom("9007199254740992", "9".repeat(400), "", "x", "-1", "1.5", "1e3", " 7", "7\n", "0x10"),
  },
);

const acquire = fc.record({
  do: fc.constant("acquire" as const),
  resource: anyResource,
  owner: anyOwner,
  hint: anyFence,
  ttlMs: anyTtlMs,
  keepMs: anyKeepMs,
  epoch: anyEpoch,
});
const release = fc.record({ do: fc.constant("release" as const), resource: anyResource, owner: anyOwner });
const anyOperation: fc.Arbitrary<ScriptOperation> = fc.oneof(
  { weight: 6, arbitrary: acquire },
  { weight: 6, arbitrary: release },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("acquire in general" as const),
      resources: severalResources,
      owner: anyOwner,
      hint: anyFence,
      ttlMs: anyTtlMs,
      keepMs: anyKeepMs,
      epoch: anyEpoch,
      takeover: fc.constantFrom("", ...owners),
      shared: anyMode,
      waiter: anyWaiter,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("extend" as const),
      resources: severalResources,
      owner: anyOwner,
      fence: anyFence,
      ttlMs: anyTtlMs,
      keepMs: anyKeepMs,
      rejoin: fc.boolean(),
      shared: anyMode,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("release in general" as const),
      resources: severalResources,
      owner: anyOwner,
      isAnnounced: fc.boolean(),
      waiter: anyWaiter,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("inspect" as const), resource: anyResource }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("identify" as const), resource: anyResource }) },
);

/** Floors with epochs, and values that are none. */
const anyFloor = fc.constantFrom(
  "0 1",
  "7 0",
  "500 2",
  `${largest - 1} 1`,
  `${largest} 0`,
  `${largest + 1} 0`,
  "7",
  "",
);

const anyStep: fc.Arbitrary<ScriptStep> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("call" as const),
      operations: fc.oneof(
        { weight: 2, arbitrary: anyOperation.map((operation) => [operation]) },
        { weight: 1, arbitrary: fc.array(anyOperation, { minLength: 2, maxLength: 6 }) },
      ),
      // The positions of some operations, usually of none.
      givenUp: fc.oneof(
        { weight: 3, arbitrary: fc.constant<number[]>([]) },
        { weight: 1, arbitrary: fc.array(fc.nat(5), { maxLength: 3 }) },
      ),
      isGuarded: fc.nat(9).map((draw) => draw === 0),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("write" as const),
      part: fc.constant("fence" as const),
      resource: anyResource,
      value: fc.option(anyCounter),
      lifeMs: fc.constantFrom(...livesMs),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("write" as const),
      part: fc.constant("lock" as const),
      resource: anyResource,
      value: fc.option(fc.constantFrom(...owners, "somebody else", "")),
      lifeMs: fc.constantFrom(...livesMs),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("floor" as const), value: fc.option(anyFloor) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("break" as const),
      part: fc.constantFrom(...parts),
      resource: anyResource,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("drop" as const), part: fc.constantFrom(...parts), resource: anyResource }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      resource: anyResource,
      waiter: fc.constantFrom(...waiters),
      since: fc.constantFrom(1, 5, 9, sharedSince + 1, sharedSince + 5),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("memory" as const), isFull: fc.boolean() }),
  },
);

/** Any history of calls and of changes between them. */
export const anyHistory: fc.Arbitrary<ScriptStep[]> = fc.array(anyStep, { minLength: 1, maxLength: 14 });

/** The number of histories in a test. */
export const historyCount = 500;

/** A way to play a history. All of its keys are in one slot. */
interface Way {
  readonly name: "short" | "general" | "alone";
  /** Whether operations use the short paths where possible. */
  readonly isShort: boolean;
  /** Whether each operation is a separate call. */
  readonly isAlone: boolean;
}

const general: Way = { name: "general", isShort: false, isAlone: false };
const ways: readonly Way[] = [
  general,
  { name: "short", isShort: true, isAlone: false },
  { name: "alone", isShort: false, isAlone: true },
];

/** The part that only the keys of this way contain. */
function tagOf({ name }: Way): string {
  return `{${name}}`;
}

/** A script on a server, with a second connection that receives keyspace events and messages. */
export interface Stage {
  readonly client: Redis;
  readonly subscriber: Redis;
  /** The hash of the script, which the server has loaded. */
  readonly sha: string;
}

/** The results of a step, or of a whole history, in one of the ways. */
type Effects = Readonly<Record<Way["name"], unknown>>;

/**
 * Plays a history in all ways, and returns the first difference, or undefined if there is none. Single calls are not
 * compared on a server that is out of memory, as it decides about each call as a whole.
 */
export async function differenceIn(history: readonly ScriptStep[], stage: Stage): Promise<string | undefined> {
  const { client } = stage;
  await client.flushall();
  const listening = await listen(stage);
  const nowUs = await timeOf(client);
  const compared = ways.filter(({ isAlone }) => !(isAlone && history.some((step) => step.do === "memory")));
  const differenceOf = (effects: Effects, what: string): string | undefined => {
    const other = compared.find(({ name }) => !isAlike(effects.general, effects[name], nowUs));
    if (other === undefined) return undefined;
    return `${what}: ${JSON.stringify(effects.general)} in general, ${other.name} ${JSON.stringify(effects[other.name])}`;
  };
  try {
    for (const [index, step] of history.entries()) {
      const replies = await inEachWay((way) => play(step, way, stage, { nowUs, index }));
      const difference =
        differenceOf(replies, "the replies") ?? differenceOf(await keysOf(client), "the keys afterwards");
      if (difference !== undefined) return `step ${index + 1}, ${JSON.stringify(step)}: ${difference}`;
    }
  } finally {
    await client.config("SET", "maxmemory", "0");
  }
  return differenceOf(await listening.end(), "the events and messages");
}

async function inEachWay(effectOf: (way: Way) => unknown): Promise<Effects> {
  const effects = await Promise.all(ways.map(async (way) => [way.name, await effectOf(way)]));
  return Object.fromEntries(effects);
}

/** The time of a step: the server's clock at the start of the history, and the number of earlier steps. */
interface Moment {
  readonly nowUs: number;
  readonly index: number;
}

/**
 * Makes each expiry later than that of equal earlier ones, so that their order does not depend on the speed of the
 * history.
 */
function distinct(lifeMs: number, { index }: Moment, operation = 0): number {
  return lifeMs + 100 * index + 10 * operation;
}

/** Plays one step. Resolves with the reply to a call. */
async function play(step: ScriptStep, way: Way, { client, sha }: Stage, moment: Moment): Promise<unknown> {
  if (step.do === "memory") return client.config("SET", "maxmemory", step.isFull ? "1" : "0");
  if (step.do === "call") return call(step, way, client, sha, moment);
  if (step.do === "floor") return writeFloor(step.value, way, client);
  const key = keyOf(way, step.do === "wait" ? "list" : step.part, step.resource);
  // A change may fail on a server that is out of memory.
  const trying = (command: Promise<unknown>) => command.catch((error: Error) => error.message.split(" ")[0]);
  if (step.do === "wait") {
    const waiter = step.since < 0 ? Buffer.from(`\u00ff${step.waiter}`, "latin1") : step.waiter;
    return trying(client.zadd(key, "NX", step.since, waiter));
  }
  if (step.do === "break") {
    await client.del(key);
    const isString = step.part === "lock" || step.part === "fence";
    return trying(isString ? client.rpush(key, "no string") : client.set(key, "no set"));
  }
  if (step.do === "drop") return client.del(key);
  if (step.value === null) return client.del(key);
  if (step.lifeMs === -1) return trying(client.set(key, step.value));
  return trying(client.set(key, step.value, "PX", distinct(step.lifeMs, moment)));
}

function writeFloor(value: string | null, way: Way, client: Redis): Promise<unknown> {
  const key = floorKey(tagOf(way));
  return value === null ? client.del(key) : client.set(key, value).catch((error: Error) => error.message.split(" ")[0]);
}

type CallStep = Extract<ScriptStep, { do: "call" }>;

async function call(step: CallStep, way: Way, client: Redis, sha: string, moment: Moment): Promise<unknown> {
  const operations = step.operations.map((operation, index) => {
    const timed = "ttlMs" in operation ? { ...operation, ttlMs: distinct(operation.ttlMs, moment, index) } : operation;
    const [keys, words] = recordOf(timed, way, moment.nowUs, step.isGuarded);
    // Only operations that make or extend a claim are ever abandoned.
    const isGivenUp = step.givenUp.includes(index) && /^(acquire|extend)/.test(operation.do);
    return { keys, words, mark: isGivenUp ? "x" : "." };
  });
  const calls = way.isAlone ? operations.map((operation) => [operation]) : [operations];
  const replies = calls.map(async (records) => {
    const keys = records.flatMap((record) => record.keys);
    const callId = String(Math.floor(Math.random() * 2 ** 48));
    const marks = records.map(({ mark }) => mark).join("");
    const words = [
      callId,
      marks,
      step.isGuarded ? 10 ** 9 : 0,
      floorKey(tagOf(way)),
      ...records.flatMap((record) => record.words),
    ];
    const [told, ...answers] = (await client.evalsha(sha, keys.length, ...keys, ...words)) as unknown[];
    return String(told) === callId ? answers : [`the id of another call: ${told}`];
  });
  return Promise.all(replies)
    .then((answers) => withoutNames(answers.flat(), way))
    .catch((error: Error) => withoutNames(`error: ${error.message}`, way));
}

/** Returns the keys and words of an operation. With a guard, an acquire never has the short form. */
function recordOf(
  operation: ScriptOperation,
  way: Way,
  nowUs: number,
  isGuarded: boolean,
): [keys: string[], words: string[]] {
  const keysOfParts = (names: readonly Resource[], ...parts: Part[]) =>
    parts.flatMap((part) => names.map((name) => keyOf(way, part, name)));
  const number = (fence: Fence) => String(typeof fence === "number" ? fence : nowUs + fence.hours * hourUs);
  switch (operation.do) {
    case "acquire": {
      const { resource, owner, hint, ttlMs, keepMs, epoch } = operation;
      const claim = [owner, number(hint), String(ttlMs), String(keepMs), String(epoch)];
      const isShort = way.isShort && !isGuarded;
      return [
        keysOfParts([resource], "lock", "fence"),
        isShort ? ["acquire-one", ...claim] : ["acquire", "1", ...claim, "", ""],
      ];
    }
    case "release": {
      const { resource, owner } = operation;
      return [
        keysOfParts([resource], "lock", "list"),
        way.isShort ? ["release-one", owner] : ["release", "1", owner, "1", ""],
      ];
    }
    case "acquire in general": {
      const { owner, hint, ttlMs, keepMs, epoch, takeover, shared, waiter } = operation;
      const name = shared ? "acquire-shared" : "acquire";
      const parts = ["lock", "fence", ...(waiter === "" ? [] : (["list"] as const))] as const;
      const count = String(operation.resources.length);
      const claim = [owner, number(hint), String(ttlMs), String(keepMs), String(epoch)];
      return [keysOfParts(operation.resources, ...parts), [name, count, ...claim, takeover, waiter]];
    }
    case "extend": {
      const { owner, fence, ttlMs, keepMs, rejoin, shared } = operation;
      const count = String(operation.resources.length);
      const name = shared ? "extend-shared" : "extend";
      const words = [name, count, owner, number(fence), String(ttlMs), String(keepMs), rejoin ? "1" : "0"];
      return [keysOfParts(operation.resources, "lock", "fence"), words];
    }
    case "release in general": {
      const { owner, isAnnounced, waiter } = operation;
      const parts = ["lock", ...(isAnnounced ? (["list"] as const) : [])] as const;
      const words = ["release", String(operation.resources.length), owner, isAnnounced ? "1" : "0", waiter];
      return [keysOfParts(operation.resources, ...parts), words];
    }
    case "inspect":
      return [keysOfParts([operation.resource], "lock", "fence"), ["inspect"]];
    case "identify":
      return [keysOfParts([operation.resource], "lock"), ["identify"]];
  }
}

function keyOf(way: Way, part: Part, resource: Resource): string {
  const lockKey = `${tagOf(way)}:${resource}`;
  switch (part) {
    case "lock":
      return lockKey;
    case "fence":
      return fenceKey(lockKey);
    case "list":
      return waitingListKey(lockKey);
    case "sharers":
      return sharersKey(lockKey);
  }
}

const readKeys = `
local all = redis.call('KEYS', '*')
table.sort(all)
local reply = {}
for _, key in ipairs(all) do
  local kind, value = redis.call('TYPE', key).ok, nil
  if kind == 'string' then value = redis.call('GET', key)
  elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  else value = redis.call('LRANGE', key, 0, -1) end
  table.insert(reply, { key, kind, value, redis.call('PTTL', key) })
end
return reply`;

/** Returns all keys of each way, with their types, values and ttls, at one time. */
async function keysOf(client: Redis): Promise<Effects> {
  const entries = (await client.eval(readKeys, 0)) as [string, ...unknown[]][];
  return inEachWay((way) =>
    entries.filter(([key]) => key.includes(tagOf(way))).map((entry) => withoutNames(entry, way)),
  );
}

/** Records keyspace events and messages until the returned function is called. */
async function listen({ client, subscriber }: Stage): Promise<{ end(): Promise<Effects> }> {
  const heard: string[] = [];
  const sentinel = `${channelPrefix}end`;
  let onEnd!: () => void;
  const ended = new Promise<void>((resolve) => {
    onEnd = resolve;
  });
  const hear = (_pattern: string, channel: string, message: string): void => {
    if (channel === sentinel) onEnd();
    else heard.push(`${channel} ${message}`);
  };
  subscriber.removeAllListeners("pmessage").on("pmessage", hear);
  await client.config("SET", "notify-keyspace-events", "EA");
  await subscriber.psubscribe("__keyevent@*", `${channelPrefix}*`);
  return {
    async end() {
      await client.publish(sentinel, "");
      await ended;
      return inEachWay((way) =>
        heard.filter((message) => message.includes(tagOf(way))).map((message) => withoutNames(message, way)),
      );
    },
  };
}

async function timeOf(client: Redis): Promise<number> {
  const [seconds, microseconds] = await client.time();
  return Number(seconds) * 1_000_000 + Number(microseconds);
}

/** Returns a reply without the marks of its way, line numbers of the script, and times in marks of shared locks. */
function withoutNames(value: unknown, way: Way): unknown {
  if (Array.isArray(value)) return value.map((element) => withoutNames(element, way));
  if (typeof value !== "string") return value;
  return value
    .replaceAll(tagOf(way), "{}")
    .replaceAll(/user_script: ?\d+/g, "user_script")
    .replace(/^(holdfast:shared\ufffd)[1-9]\d*:/, "$1later:");
}

function isAlike(a: unknown, b: unknown, nowUs: number): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    if (isReserved(a) && isReserved(b)) return true;
    const isEither = namesResource(a) && namesResource(b);
    const isAlikeAt = (each: unknown, index: number) => (index === 2 && isEither) || isAlike(each, b[index], nowUs);
    return a.length === b.length && a.every(isAlikeAt);
  }
  if (typeof a !== typeof b || !(typeof a === "number" || typeof a === "string")) return false;
  return Math.abs(Number(a) - Number(b)) <= toleranceOf(Number(a), nowUs);
}

/**
 * Returns whether a denial is due to a writer that waits. Reservations that are made in one call may end in the same
 * millisecond or not, so any of them may be the one that lasts longest.
 */
function isReserved(answer: readonly unknown[]): boolean {
  return answer[0] === "denied" && Number(answer[1]) > 0 && Number(answer[1]) <= 1_000;
}

/**
 * Returns whether a denial names one of the held resources. Claims that are made in one call may end in the same
 * millisecond or not, so any of those of one owner may be the one that lasts longest.
 */
function namesResource(answer: readonly unknown[]): boolean {
  return answer[0] === "denied" && Number(answer[2]) > 0;
}

/** Compares values: times, and counters that follow the server's clock, with a tolerance, all else exactly. */
function toleranceOf(value: number, nowUs: number): number {
  if (value < 0) return value === -1 ? 0 : toleranceOf(value - sharedSince, nowUs);
  if (value > 1_000 && value < 10 ** 10) return toleranceMs;
  if (Math.abs(value - nowUs / 1_000) < hourUs / 1_000) return toleranceMs;
  return Math.abs(value - nowUs - 24 * hourUs) < hourUs / 2 ? toleranceMs * 1_000 : 0;
}
