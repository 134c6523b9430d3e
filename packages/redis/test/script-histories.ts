import { isNightly } from "@holdfast/testkit";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { channelPrefix, clusterSlot, fenceKey, sharersKey, waitingListKey } from "../src/keys.ts";

/*
 * Random histories of the two scripts. Each is played in several ways on one server, with separate keys: with the lock
 * script; with the common script, and the lock script for what that leaves undone, one call for each operation; and with
 * batches of the common script. Replies, keys, messages and the order of writes must be the same.
 */

const resources = ["a", "b", "c"] as const;
/** The common script denies by itself while a holder ends as Holdfast's owners do. */
const owners = ["alice", `bob:${"b".repeat(32)}`, `${"0123456789abcdef".repeat(2)}.3`] as const;
/** Values of other programs, in Latin-1: one is too long for an owner, and one has the byte of the mark of sharers. */
const otherValues = [
  ...["somebody else", "", `${"x".repeat(500)}${owners[1]}`],
  `${"x".repeat(15)}\u00ff${"b".repeat(32)}`,
] as const;
const waiters = ["first", "second", "third"] as const;
const hourUs = 3_600_000_000;
/** The score of a waiter of a shared request that enqueued at a counter of 0. */
const sharedSince = -(2 ** 53);

/** Tolerance for times that are read one after another. All times in histories are further apart. */
const toleranceMs = 20_000;
const ttlsMs = [60_000, 600_000] as const;
const livesMs = [-1, 120_000, 10_000_000] as const;

type Resource = (typeof resources)[number];
type Part = "lock" | "fence" | "list" | "sharers";
const parts: readonly Part[] = ["lock", "fence", "list", "sharers"];

/** A fence: a number, or a time in hours relative to the server's clock at the start of the history. */
type Fence = number | { readonly hours: number };

/** One operation of a call. The common script does `acquire` and `release`. */
export type ScriptOperation =
  | { do: "acquire"; resource: Resource; owner: string; hint: Fence; ttlMs: number; epoch: number }
  | { do: "release"; resource: Resource; owner: string }
  | {
      do: "acquire in general";
      resources: Resource[];
      owner: string;
      hint: Fence;
      ttlMs: number;
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
      rejoin: boolean;
      shared: boolean;
    }
  | { do: "release in general"; resources: Resource[]; owner: string; isAnnounced: boolean; waiter: string }
  | { do: "inspect"; resource: Resource };

/** A call, or a change to keys or to the server between calls. */
export type ScriptStep =
  | { do: "write"; part: "lock" | "fence" | "list"; resource: Resource; value: string | null; lifeMs: number }
  | { do: "break"; part: Part; resource: Resource }
  | { do: "drop"; part: Part; resource: Resource }
  | { do: "wait"; resource: Resource; list: { waiter: string; since: number }[] }
  | { do: "limit"; setting: "maxmemory" | "min-replicas-to-write"; value: "0" | "1" }
  | { do: "call"; operations: ScriptOperation[]; givenUp: number[]; isGuarded: boolean };

/** Mostly the same, so that the steps of a history have to do with each other. */
const anyResource = fc.constantFrom("a", "a", ...resources);
const anyOwner = fc.constantFrom(...owners);
const anyWaiter = fc.constantFrom("", ...waiters);
const anyTtlMs = fc.constantFrom(...ttlsMs);
const anyMode = fc.boolean();
const anyEpoch = fc.constantFrom(1, 2, 3);
const severalResources = fc.uniqueArray(anyResource, { minLength: 1, maxLength: 3 }).map((names) => names.sort());
const largest = Number.MAX_SAFE_INTEGER;
const anyFence: fc.Arbitrary<Fence> = fc.oneof(
  fc.constantFrom(1, 7, 500, 10 ** 15, -5, 0, 2 ** 52 - 1, 2 ** 52, largest - 1, largest),
  fc.constantFrom(-1, 0, 23, 25, 1_000).map((hours) => ({ hours })),
  // About an hour above counters that are themselves far ahead of the clock.
  fc.constantFrom(hourUs / 2, hourUs, hourUs + 1).map((above) => 2 ** 52 + above),
);
/** Valid counters, including the largest, and invalid ones. */
const anyCounter = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("1", "6", "7", "8", "499", "0", "007", "01") },
  { weight: 2, arbitrary: fc.constantFrom("0 1", "7 1", "07 2", "7 3", "8 5", `${largest - 1} 1`) },
  { weight: 1, arbitrary: fc.constantFrom(String(2 ** 52), `${2 ** 52} 1`) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...[2 ** 52 - 2, 2 ** 52 - 1, 2 ** 52, largest - 2, largest - 1, largest].map(String)),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "9007199254740992",
      "9".repeat(400),
      "",
      "x",
      "-1",
      "1.5",
      "1e3",
      " 7",
      "7\n",
      "0x10",
      "7 x",
      "7 1 1",
    ),
  },
);

const acquire = fc.record({
  do: fc.constant("acquire" as const),
  resource: anyResource,
  owner: anyOwner,
  hint: anyFence,
  ttlMs: anyTtlMs,
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
      value: fc.option(fc.constantFrom(...owners, ...otherValues)),
      lifeMs: fc.constantFrom(...livesMs),
    }),
  },
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
      list: fc.array(
        fc.record({
          waiter: fc.constantFrom(...waiters),
          since: fc.constantFrom(1, 5, 9, sharedSince + 1, sharedSince + 5, sharedSince + 9),
        }),
        { minLength: 1, maxLength: 4 },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("limit" as const),
      setting: fc.constantFrom("maxmemory", "min-replicas-to-write"),
      value: fc.constantFrom("0", "1"),
    }),
  },
);

/** Any history of calls and of changes between them. */
export const anyHistory: fc.Arbitrary<ScriptStep[]> = fc.array(anyStep, { minLength: 1, maxLength: 14 });

/** The number of histories in a test. */
export const historyCount: number = isNightly ? 500 : 120;

/** A way to play a history, with keys of its own. */
interface Way {
  readonly name: "general" | "common" | "batch";
  /** Whether operations go to the common script where possible. */
  readonly isCommon: boolean;
  /** Whether each operation is a separate call. */
  readonly isAlone: boolean;
}

const general: Way = { name: "general", isCommon: false, isAlone: false };
const common: Way = { name: "common", isCommon: true, isAlone: true };
const batch: Way = { name: "batch", isCommon: true, isAlone: false };

/** A script on a server, with a second connection that receives keyspace events and messages. */
export interface Stage {
  readonly client: Redis;
  readonly subscriber: Redis;
  /** The hashes of the scripts, which the server has loaded. */
  readonly lockSha: string;
  readonly commonSha: string;
  /** Whether all keys must be in one slot, where the resources share a counter. */
  readonly isCluster: boolean;
}

/** The results of a step, or of a whole history, in one of the ways. */
type Effects = Readonly<Record<Way["name"], unknown>>;

/**
 * Plays a history in all ways, and returns the first difference, or undefined if there is none. Where the server may not
 * write at times, each operation is a call of its own: the server refuses the first write of a call, but none after one
 * that it has allowed.
 */
export async function differenceIn(history: readonly ScriptStep[], stage: Stage): Promise<string | undefined> {
  const { client } = stage;
  await client.flushall();
  const listening = await listen(stage);
  const nowUs = await timeOf(client);
  const isLimited = history.some((step) => step.do === "limit");
  const ways = isLimited ? [common] : [common, batch];
  const differenceOf = (effects: Effects, what: string): string | undefined => {
    const other = ways.find(({ name }) => !isAlike(effects.general, effects[name], nowUs));
    if (other === undefined) return undefined;
    return `${what}: ${JSON.stringify(effects.general)} in general, ${other.name} ${JSON.stringify(effects[other.name])}`;
  };
  try {
    for (const [index, step] of history.entries()) {
      const moment = { nowUs, index };
      const byCommon = await play(step, common, stage, moment);
      const isLeft = byCommon.left > 0 || step.do !== "call";
      const byBatch = await play(step, isLeft ? { ...batch, isCommon: false } : batch, stage, moment);
      const byGeneral = await play(step, { ...general, isAlone: isLimited }, stage, moment);
      const replies = { common: byCommon.reply, batch: byBatch.reply, general: byGeneral.reply };
      const difference =
        differenceOf(replies, "the replies") ?? differenceOf(await keysOf(stage), "the keys afterwards");
      if (difference !== undefined) return `step ${index + 1}, ${JSON.stringify(step)}: ${difference}`;
    }
  } finally {
    await client.config("SET", "maxmemory", "0", "min-replicas-to-write", "0");
  }
  return differenceOf(await listening.end(), "the events and messages");
}

async function inEachWay(effectOf: (way: Way) => unknown): Promise<Effects> {
  const effects = await Promise.all([general, common, batch].map(async (way) => [way.name, await effectOf(way)]));
  return Object.fromEntries(effects);
}

/** The part that only the keys of this way contain. In braces it is their hash tag. */
function tagOf({ name }: Way, { isCluster }: Stage): string {
  return isCluster ? `{${name}}` : `<${name}>`;
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

/** Plays one step. Resolves with the reply to a call, and how many operations the common script left undone. */
async function play(
  step: ScriptStep,
  way: Way,
  stage: Stage,
  moment: Moment,
): Promise<{ readonly reply?: unknown; readonly left: number }> {
  if (step.do === "call") return call(step, way, stage, moment);
  return { reply: await change(step, way, stage, moment), left: 0 };
}

async function change(step: Exclude<ScriptStep, CallStep>, way: Way, stage: Stage, moment: Moment): Promise<unknown> {
  const { client } = stage;
  if (step.do === "limit") return client.config("SET", step.setting, step.value);
  const key = keyOf(way, step.do === "wait" ? "list" : step.part, step.resource, stage);
  // A change fails on a server that may not write.
  const trying = (command: Promise<unknown>) => command.catch((error: Error) => error.message.split(" ")[0]);
  if (step.do === "wait") {
    const entries = step.list.flatMap(({ waiter, since }) => {
      return [since, since < 0 ? Buffer.from(`\u00ff${waiter}`, "latin1") : waiter];
    });
    return trying(client.zadd(key, "NX", ...entries));
  }
  if (step.do === "break") {
    await trying(client.del(key));
    const isString = step.part === "lock" || step.part === "fence";
    return trying(isString ? client.rpush(key, "no string") : client.set(key, "no set"));
  }
  if (step.do === "drop" || step.value === null) return trying(client.del(key));
  const value = Buffer.from(step.value, "latin1");
  if (step.lifeMs === -1) return trying(client.set(key, value));
  return trying(client.set(key, value, "PX", distinct(step.lifeMs, moment)));
}

type CallStep = Extract<ScriptStep, { do: "call" }>;

/** What an operation adds to a call. */
interface Form {
  readonly keys: readonly string[];
  readonly words: readonly string[];
  readonly mark: string;
}

async function call(step: CallStep, way: Way, stage: Stage, moment: Moment) {
  const operations = step.operations.map((operation, index) => {
    const timed = "ttlMs" in operation ? { ...operation, ttlMs: distinct(operation.ttlMs, moment, index) } : operation;
    // Only operations that make or extend a claim are ever abandoned.
    const isGivenUp = step.givenUp.includes(index) && /^(acquire|extend)/.test(operation.do);
    const formOf = (isCommon: boolean): Form => {
      const [keys, words] = recordOf(timed, way, moment.nowUs, isCommon, stage);
      return { keys, words, mark: isGivenUp ? "x" : "." };
    };
    const mayBeCommon = operation.do === "release" || (operation.do === "acquire" && !step.isGuarded);
    return { mayBeCommon: way.isCommon && mayBeCommon, formOf };
  });
  let left = 0;
  const send = async (group: typeof operations): Promise<readonly unknown[]> => {
    const isCommon = group.every(({ mayBeCommon }) => mayBeCommon);
    const answers = await run(
      group.map(({ formOf }) => formOf(isCommon)),
      isCommon,
      step.isGuarded,
      stage,
    );
    if (!isCommon || answers[0] !== -1) return answers;
    left += 1;
    return run(
      group.map(({ formOf }) => formOf(false)),
      false,
      step.isGuarded,
      stage,
    );
  };
  const answers: unknown[] = [];
  try {
    for (const group of way.isAlone ? operations.map((operation) => [operation]) : [operations]) {
      answers.push(...(await send(group)));
    }
  } catch (error) {
    return { reply: withoutNames(`error: ${(error as Error).message}`, way, stage), left };
  }
  return { reply: withoutNames(answers, way, stage), left };
}

/** Makes one call of a script. */
async function run(
  records: readonly Form[],
  isCommon: boolean,
  isGuarded: boolean,
  { client, commonSha, lockSha }: Stage,
): Promise<readonly unknown[]> {
  const keys = records.flatMap((record) => record.keys);
  const callId = String(Math.floor(Math.random() * 2 ** 48));
  const marks = records.map(({ mark }) => mark).join("");
  const header = isCommon ? [callId, marks] : [callId, marks, isGuarded ? 10 ** 9 : 0];
  const words = [...header, ...records.flatMap((record) => record.words)];
  const sha = isCommon ? commonSha : lockSha;
  const [told, ...answers] = (await client.evalsha(sha, keys.length, ...keys, ...words)) as unknown[];
  return String(told) === callId ? answers : [`the id of another call: ${told}`];
}

/** Returns the keys and words of an operation, for the common script or the lock script. */
function recordOf(
  operation: ScriptOperation,
  way: Way,
  nowUs: number,
  isCommon: boolean,
  stage: Stage,
): [keys: string[], words: string[]] {
  const keysOfParts = (names: readonly Resource[], ...parts: Part[]) =>
    names.flatMap((name) => parts.map((part) => keyOf(way, part, name, stage)));
  const number = (fence: Fence) => String(typeof fence === "number" ? fence : nowUs + fence.hours * hourUs);
  const names = "resources" in operation ? operation.resources : [operation.resource];
  const general = (name: string, ...fields: string[]): [string[], string[]] => [
    keysOfParts(names, ...parts),
    [name, String(names.length), ...fields],
  ];
  switch (operation.do) {
    case "acquire": {
      const { owner, hint, ttlMs, epoch } = operation;
      const claim = [owner, number(hint), String(ttlMs), String(epoch)];
      if (isCommon) return [keysOfParts(names, "lock", "fence"), ["acquire", ...claim]];
      return general("acquire", ...claim, "", "", "0");
    }
    case "release": {
      const { owner } = operation;
      return isCommon ? [keysOfParts(names, "lock", "list"), ["release", owner]] : general("release", owner, "1", "");
    }
    case "acquire in general": {
      const { owner, hint, ttlMs, epoch, takeover, shared, waiter } = operation;
      const claim = [owner, number(hint), String(ttlMs), String(epoch)];
      return general("acquire", ...claim, takeover, waiter, shared ? "1" : "0");
    }
    case "extend": {
      const { owner, fence, ttlMs, rejoin, shared } = operation;
      return general("extend", owner, number(fence), String(ttlMs), shared ? "1" : "0", rejoin ? "1" : "0");
    }
    case "release in general":
      return general("release", operation.owner, operation.isAnnounced ? "1" : "0", operation.waiter);
    case "inspect":
      return general("inspect", "100");
  }
}

function keyOf(way: Way, part: Part, resource: Resource, stage: Stage): string {
  const prefix = `${tagOf(way, stage)}:`;
  const lockKey = prefix + resource;
  const slot = clusterSlot(lockKey);
  switch (part) {
    case "lock":
      return lockKey;
    case "fence":
      return fenceKey(prefix, slot);
    case "list":
      return waitingListKey(lockKey, slot);
    case "sharers":
      return sharersKey(lockKey, slot);
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
async function keysOf(stage: Stage): Promise<Effects> {
  const entries = (await stage.client.eval(readKeys, 0)) as [string, ...unknown[]][];
  return inEachWay((way) => {
    const own = entries.filter(([key]) => key.includes(tagOf(way, stage)));
    return own.map((entry) => withoutNames(entry, way, stage) as unknown[]).sort((a, b) => (`${a}` < `${b}` ? -1 : 1));
  });
}

/** Records keyspace events and messages until the returned function is called. */
async function listen(stage: Stage): Promise<{ end(): Promise<Effects> }> {
  const { client, subscriber } = stage;
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
      return inEachWay((way) => {
        const own = heard.filter((message) => message.includes(tagOf(way, stage)));
        // The common script writes the counter after the claim, which one step of the server cannot tell apart.
        const isOfCounter = (message: string) => message.includes("holdfast:fence:");
        const ordered = [...own.filter(isOfCounter), ...own.filter((message) => !isOfCounter(message))];
        return ordered.map((message) => withoutNames(message, way, stage));
      });
    },
  };
}

async function timeOf(client: Redis): Promise<number> {
  const [seconds, microseconds] = await client.time();
  return Number(seconds) * 1_000_000 + Number(microseconds);
}

/** Returns a reply without the marks of its way, line numbers of the script, and times in marks of shared locks. */
function withoutNames(value: unknown, way: Way, stage: Stage): unknown {
  if (Array.isArray(value)) return value.map((element) => withoutNames(element, way, stage));
  if (typeof value !== "string") return value;
  return value
    .replaceAll(tagOf(way, stage), "{}")
    .replaceAll(/\{[h-o]{6}\}/g, "{slot}")
    .replaceAll(/user_script: ?\d+/g, "user_script")
    .replace(/^(holdfast:shared\ufffd)[1-9]\d*$/, "$1later");
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
  // A counter and an epoch.
  if (`${a}`.includes(" ")) return isAlike(`${a}`.split(" "), `${b}`.split(" "), nowUs);
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
