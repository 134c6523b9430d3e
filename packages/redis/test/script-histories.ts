import fc from "fast-check";
import type { Redis } from "ioredis";
import { channelPrefix, fenceKey, waitingListKey } from "../src/keys.ts";

/*
 * Random histories of the lock script. Each is played in several ways on one server, on keys of their own: with the records of
 * the short paths (`acquire-one` and `release-one`), with those of the general path in their place, and with a call for each
 * operation. Replies, keys, the order of writes and messages must be the same.
 */

const resources = ["a", "b", "c"] as const;
const owners = ["alice", "bob", "carol"] as const;
const waiters = ["first", "second"] as const;
const hourUs = 3_600_000_000;

/** Times that differ by less may have been read one after the other. All times in histories are further apart. */
const toleranceMs = 20_000;
const ttlsMs = [60_000, 600_000] as const;
const keptMs = [0, 200_000, 1_000_000, 4_000_000] as const;
const livesMs = [-1, 120_000, 10_000_000] as const;

type Resource = (typeof resources)[number];

/** A fence, or a time relative to the server's clock when the history begins, in hours. */
type Fence = number | { readonly hours: number };

/** One record of a call. `acquire` and `release` are those that have a short path. */
export type ScriptOperation =
  | { do: "acquire"; resource: Resource; owner: string; hint: Fence; ttlMs: number; keepMs: number }
  | { do: "release"; resource: Resource; owner: string }
  | {
      do: "acquire in general";
      resources: Resource[];
      owner: string;
      hint: Fence;
      ttlMs: number;
      keepMs: number;
      takeover: string;
      waiter: string;
    }
  | { do: "extend"; resources: Resource[]; owner: string; fence: Fence; ttlMs: number; keepMs: number; rejoin: boolean }
  | { do: "release in general"; resources: Resource[]; owner: string; isAnnounced: boolean; waiter: string }
  | { do: "inspect"; resource: Resource }
  | { do: "identify"; resource: Resource };

/** What happens to the keys of a resource, or to the server, between two calls; or a call. */
export type ScriptStep =
  | { do: "write"; part: "lock" | "fence" | "list"; resource: Resource; value: string | null; lifeMs: number }
  | { do: "break"; part: "lock" | "fence" | "list"; resource: Resource }
  | { do: "wait"; resource: Resource; waiter: string; since: number }
  | { do: "memory"; isFull: boolean }
  | { do: "call"; operations: ScriptOperation[]; givenUp: number[]; isGuarded: boolean };

const anyResource = fc.constantFrom(...resources);
const anyOwner = fc.constantFrom(...owners);
const anyWaiter = fc.constantFrom("", ...waiters);
const anyTtlMs = fc.constantFrom(...ttlsMs);
const anyKeepMs = fc.constantFrom(...keptMs);
const severalResources = fc.uniqueArray(anyResource, { minLength: 1, maxLength: 3 }).map((names) => names.sort());
const largest = Number.MAX_SAFE_INTEGER;
const anyFence: fc.Arbitrary<Fence> = fc.oneof(
  fc.constantFrom(1, 7, 500, 10 ** 15, -5, 0, 2 ** 52 - 1, 2 ** 52, largest - 1, largest),
  fc.constantFrom(-1, 0, 23, 25, 1_000).map((hours) => ({ hours })),
);
/** Sound ones, as large as they come, and what is none. */
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
});
const release = fc.record({ do: fc.constant("release" as const), resource: anyResource, owner: anyOwner });
const anyOperation: fc.Arbitrary<ScriptOperation> = fc.oneof(
  { weight: 6, arbitrary: acquire },
  { weight: 6, arbitrary: release },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("acquire in general" as const),
      resources: severalResources,
      owner: anyOwner,
      hint: anyFence,
      ttlMs: anyTtlMs,
      keepMs: anyKeepMs,
      takeover: fc.constantFrom("", ...owners),
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

const anyStep: fc.Arbitrary<ScriptStep> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("call" as const),
      operations: fc.oneof(
        { weight: 2, arbitrary: anyOperation.map((operation) => [operation]) },
        { weight: 1, arbitrary: fc.array(anyOperation, { minLength: 2, maxLength: 6 }) },
      ),
      // The positions of some, most often of none.
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
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("break" as const),
      part: fc.constantFrom("lock" as const, "fence" as const, "list" as const),
      resource: anyResource,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      resource: anyResource,
      waiter: fc.constantFrom(...waiters),
      since: fc.constantFrom(1, 5, 9),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("memory" as const), isFull: fc.boolean() }),
  },
);

/** Any history of calls, between which others change keys. */
export const anyHistory: fc.Arbitrary<ScriptStep[]> = fc.array(anyStep, { minLength: 1, maxLength: 14 });

/** How many histories a test plays. */
export const historyCount = 500;

/** One of the ways to play a history. All of its keys are of one slot. */
interface Way {
  readonly name: "short" | "general" | "alone";
  /** Whether operations have the records of the short paths, where there are any. */
  readonly isShort: boolean;
  /** Whether each operation is a call. */
  readonly isAlone: boolean;
}

const general: Way = { name: "general", isShort: false, isAlone: false };
const ways: readonly Way[] = [
  general,
  { name: "short", isShort: true, isAlone: false },
  { name: "alone", isShort: false, isAlone: true },
];

/** What keys of a way, and nothing else, contain. */
function tagOf({ name }: Way): string {
  return `{${name}}`;
}

/** A script on a server, with a second connection that hears what happens to keys and what is published. */
export interface Stage {
  readonly client: Redis;
  readonly subscriber: Redis;
  /** The hash of the script, which the server knows. */
  readonly sha: string;
}

/** What came of a step, or of a whole history, in one of the ways. */
type Effects = Readonly<Record<Way["name"], unknown>>;

/**
 * Plays a history in all ways, and returns the first difference, or undefined if there is none. How much a call may do on a
 * server that is out of memory depends on what it has done before, so that calls of single operations may differ there.
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

/** When a step is done: the server's clock at the beginning of the history, and how many steps came before. */
interface Moment {
  readonly nowUs: number;
  readonly index: number;
}

/**
 * Makes each life end later than equal ones that began before: which of two ends first must not depend on how fast the
 * history is played.
 */
function distinct(lifeMs: number, { index }: Moment, operation = 0): number {
  return lifeMs + 100 * index + 10 * operation;
}

/** Does one step. Resolves with the reply to a call. */
async function play(step: ScriptStep, way: Way, { client, sha }: Stage, moment: Moment): Promise<unknown> {
  if (step.do === "memory") return client.config("SET", "maxmemory", step.isFull ? "1" : "0");
  if (step.do === "call") return call(step, way, client, sha, moment);
  const key = keyOf(way, step.do === "wait" ? "list" : step.part, step.resource);
  // A server that is out of memory keeps nobody from preparing the next call.
  const trying = (command: Promise<unknown>) => command.catch((error: Error) => error.message.split(" ")[0]);
  if (step.do === "wait") return trying(client.zadd(key, "NX", step.since, step.waiter));
  if (step.do === "break") {
    await client.del(key);
    return trying(step.part === "list" ? client.set(key, "no list") : client.rpush(key, "no string"));
  }
  if (step.value === null) return client.del(key);
  if (step.lifeMs === -1) return trying(client.set(key, step.value));
  return trying(client.set(key, step.value, "PX", distinct(step.lifeMs, moment)));
}

type CallStep = Extract<ScriptStep, { do: "call" }>;

async function call(step: CallStep, way: Way, client: Redis, sha: string, moment: Moment): Promise<unknown> {
  const operations = step.operations.map((operation, index) => {
    const timed = "ttlMs" in operation ? { ...operation, ttlMs: distinct(operation.ttlMs, moment, index) } : operation;
    const [keys, words] = recordOf(timed, way, moment.nowUs, step.isGuarded);
    // Only what makes or extends a claim is ever given up.
    const isGivenUp = step.givenUp.includes(index) && /^(acquire|extend)/.test(operation.do);
    return { keys, words, mark: isGivenUp ? "x" : "." };
  });
  const calls = way.isAlone ? operations.map((operation) => [operation]) : [operations];
  const replies = calls.map(async (records) => {
    const keys = records.flatMap((record) => record.keys);
    const callId = String(Math.floor(Math.random() * 2 ** 48));
    const marks = records.map(({ mark }) => mark).join("");
    const words = [callId, marks, step.isGuarded ? 10 ** 9 : 0, ...records.flatMap((record) => record.words)];
    const [told, ...answers] = (await client.evalsha(sha, keys.length, ...keys, ...words)) as unknown[];
    return String(told) === callId ? answers : [`the id of another call: ${told}`];
  });
  return Promise.all(replies)
    .then((answers) => withoutNames(answers.flat(), way))
    .catch((error: Error) => withoutNames(`error: ${error.message}`, way));
}

/** The keys and the words of an operation. A server with a guard is never sent the short form of an acquire. */
function recordOf(
  operation: ScriptOperation,
  way: Way,
  nowUs: number,
  isGuarded: boolean,
): [keys: string[], words: string[]] {
  const keysOfParts = (names: readonly Resource[], ...parts: ("lock" | "fence" | "list")[]) =>
    parts.flatMap((part) => names.map((name) => keyOf(way, part, name)));
  const number = (fence: Fence) => String(typeof fence === "number" ? fence : nowUs + fence.hours * hourUs);
  switch (operation.do) {
    case "acquire": {
      const { resource, owner, hint, ttlMs } = operation;
      const claim = [owner, number(hint), String(ttlMs), String(operation.keepMs)];
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
      const { owner, hint, ttlMs, keepMs, takeover, waiter } = operation;
      const parts = ["lock", "fence", ...(waiter === "" ? [] : (["list"] as const))] as const;
      const count = String(operation.resources.length);
      const claim = [owner, number(hint), String(ttlMs), String(keepMs)];
      return [keysOfParts(operation.resources, ...parts), ["acquire", count, ...claim, takeover, waiter]];
    }
    case "extend": {
      const { owner, fence, ttlMs, keepMs, rejoin } = operation;
      const count = String(operation.resources.length);
      const words = ["extend", count, owner, number(fence), String(ttlMs), String(keepMs), rejoin ? "1" : "0"];
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

function keyOf(way: Way, part: "lock" | "fence" | "list", resource: Resource): string {
  const lockKey = `${tagOf(way)}:${resource}`;
  if (part === "lock") return lockKey;
  return part === "fence" ? fenceKey(lockKey) : waitingListKey(lockKey);
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

/** All keys of each way, with their types, values and lives, at one moment. */
async function keysOf(client: Redis): Promise<Effects> {
  const entries = (await client.eval(readKeys, 0)) as [string, ...unknown[]][];
  return inEachWay((way) =>
    entries.filter(([key]) => key.includes(tagOf(way))).map((entry) => withoutNames(entry, way)),
  );
}

/** Hears what happens to keys, and what is published, from now on, until the end is asked for. */
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

/** The same without what names the way, or a line of the script. */
function withoutNames(value: unknown, way: Way): unknown {
  if (Array.isArray(value)) return value.map((element) => withoutNames(element, way));
  if (typeof value !== "string") return value;
  return value.replaceAll(tagOf(way), "{}").replaceAll(/user_script: ?\d+/g, "user_script");
}

function isAlike(a: unknown, b: unknown, nowUs: number): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    if (isDenialOfSome(a) && isDenialOfSome(b)) return isAlike(a[1], b[1], nowUs);
    return a.length === b.length && a.every((each, index) => isAlike(each, b[index], nowUs));
  }
  if (typeof a !== typeof b || !(typeof a === "number" || typeof a === "string")) return false;
  return Math.abs(Number(a) - Number(b)) <= toleranceOf(Number(a), nowUs);
}

/**
 * Whether a denial names a resource. Claims that one call has made end in the same millisecond or not, so that either may be
 * the one that lasts longest.
 */
function isDenialOfSome(answer: readonly unknown[]): boolean {
  return answer.length === 3 && answer[0] === "denied" && Number(answer[2]) > 0;
}

/** Remaining times, and counters that follow the server's clock, depend on when they were read. All else is exact. */
function toleranceOf(value: number, nowUs: number): number {
  if (value > 1_000 && value < 10 ** 10) return toleranceMs;
  return Math.abs(value - nowUs - 24 * hourUs) < hourUs / 2 ? toleranceMs * 1_000 : 0;
}
