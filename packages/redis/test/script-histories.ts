import type { AcquireRequest, ExtendRequest, LockNode, NodeView, ReleaseRequest } from "@holdfast/core/node";
import { acquireRequest, extendRequest, releaseRequest } from "@holdfast/redis-testkit/requests";
import { ignore } from "@holdfast/redis-testkit/timing";
import { isNightly } from "@holdfast/testkit";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { commonScript } from "../src/generated/common-script.ts";
import { lockNames, type RedisConnection, redisNode } from "../src/index.ts";
import { channelPrefix } from "../src/keys.ts";
import { connectionOver } from "./connection.ts";

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

type Part = "lock" | "fence" | "waitingList" | "sharers";
const parts: readonly Part[] = ["lock", "fence", "waitingList", "sharers"];

/** An operation of a node. */
export type NodeOperation =
  | { do: "acquire"; request: AcquireRequest }
  | { do: "extend"; request: ExtendRequest }
  | { do: "release"; request: ReleaseRequest }
  | { do: "inspect"; resource: string };

/** Asks a node for an operation. */
export function operate(node: LockNode, operation: NodeOperation): Promise<unknown> {
  switch (operation.do) {
    case "acquire":
      return node.acquire(operation.request);
    case "extend":
      return node.extend(operation.request);
    case "release":
      return node.release(operation.request);
    case "inspect":
      return node.inspect?.(operation.resource) as Promise<NodeView>;
  }
}

/** Operations at once, or a change to keys or to the server between them. */
export type ScriptStep =
  | { do: "write"; part: "lock" | "fence"; resource: string; value: string | null; lifeMs: number }
  | { do: "break"; part: Part; resource: string }
  | { do: "drop"; part: Part; resource: string }
  | { do: "wait"; resource: string; list: { waiter: string; since: number }[] }
  | { do: "limit"; setting: "maxmemory" | "min-replicas-to-write"; value: "0" | "1" }
  | { do: "call"; operations: NodeOperation[]; givenUp: string[]; isGuarded: boolean };

/** Fences relative to the server's clock, in hours, are written as fractions: a history does not know that clock. */
const fromClock = (hours: number): number => hours + 0.5;

/** Mostly the same, so that the steps of a history have to do with each other. */
const anyResource = fc.constantFrom("a", "a", ...resources);
const severalResources = fc.uniqueArray(anyResource, { minLength: 1, maxLength: 3 }).map((names) => names.sort());
const anyOwner = fc.constantFrom(...owners);
const anyWaiter = fc.constantFrom(undefined, ...waiters);
const anyTtlMs = fc.constantFrom(...ttlsMs);
const largest = Number.MAX_SAFE_INTEGER;
const anyFence = fc.oneof(
  fc.constantFrom(1, 7, 500, 10 ** 15, 2 ** 52 - 1, 2 ** 52, largest - 1, largest),
  fc.constantFrom(...[-1, 0, 23, 25, 1_000].map(fromClock)),
  // About an hour above counters that are themselves far ahead of the clock.
  fc.constantFrom(hourUs / 2, hourUs, hourUs + 1).map((above) => 2 ** 52 + above),
);
/** Valid counters, including the largest, and invalid ones. */
const anyCounter = oneOf([
  [4, fc.constantFrom("1", "6", "7", "8", "499", "0", "007", "01")],
  [2, fc.constantFrom("0 1", "7 1", "07 2", "7 3", "8 5", `${largest - 1} 1`)],
  [1, fc.constantFrom(String(2 ** 52), `${2 ** 52} 1`)],
  [2, fc.constantFrom(...[2 ** 52 - 2, 2 ** 52 - 1, 2 ** 52, largest - 2, largest - 1, largest].map(String))],
  [
    2,
    fc.constantFrom(
      ...["9007199254740992", "9".repeat(400), "", "x", "-1", "1.5", "1e3", " 7", "7\n", "0x10", "7 x", "7 1 1"],
    ),
  ],
]);

/** Returns an arbitrary that draws from each of these with its weight. */
export function oneOf<T>(weighted: readonly (readonly [weight: number, arbitrary: fc.Arbitrary<T>])[]) {
  return fc.oneof(...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

const requests = {
  acquire: acquireRequest,
  extend: extendRequest,
  release: (owner: string, { resources, ...terms }: Partial<ReleaseRequest>) => {
    return { ...releaseRequest(owner, resources), ...terms };
  },
};

/** Returns an arbitrary of operations whose requests have these terms, among them the owner. */
export function operationsWith(
  name: keyof typeof requests,
  terms: Readonly<Record<string, fc.Arbitrary<unknown>>>,
): fc.Arbitrary<NodeOperation> {
  return fc.record(terms).map(({ owner, ...rest }) => {
    return { do: name, request: requests[name](owner as string, rest) } as NodeOperation;
  });
}

const ofOne = { owner: anyOwner, resources: anyResource.map((resource) => [resource]) };
const ofSeveral = { owner: anyOwner, resources: severalResources };
const claimTerms = { fenceHint: anyFence, ttlMs: anyTtlMs, epoch: fc.constantFrom(1, 2, 3) };
const generalTerms = { takeover: fc.constantFrom(undefined, ...owners), shared: fc.boolean(), waiter: anyWaiter };
const extendTerms = { fence: anyFence, ttlMs: anyTtlMs, rejoin: fc.boolean(), shared: fc.boolean() };
const anyOperation = oneOf<NodeOperation>([
  [6, operationsWith("acquire", { ...ofOne, ...claimTerms })],
  [6, operationsWith("release", ofOne)],
  [4, operationsWith("acquire", { ...ofSeveral, ...claimTerms, ...generalTerms })],
  [2, operationsWith("extend", { ...ofSeveral, ...extendTerms })],
  [2, operationsWith("release", { ...ofSeveral, undo: fc.boolean(), waiter: anyWaiter })],
  [1, anyResource.map((resource): NodeOperation => ({ do: "inspect", resource }))],
]);

/** Leaves out releases after claims of their owners, as the node would not send these claims. */
function withoutGivenUp(operations: readonly NodeOperation[]): NodeOperation[] {
  const claimed = new Set<string>();
  return operations.filter((operation) => {
    if (operation.do === "release") return !claimed.has(operation.request.owner);
    if (operation.do !== "inspect") claimed.add(operation.request.owner);
    return true;
  });
}

/** Returns an arbitrary of steps with these fields. */
function steps(name: ScriptStep["do"], fields: Readonly<Record<string, fc.Arbitrary<unknown>>>) {
  return fc.record({ do: fc.constant(name), ...fields }) as fc.Arbitrary<ScriptStep>;
}

const written = { resource: anyResource, lifeMs: fc.constantFrom(...livesMs) };
const waiting = fc.record({
  waiter: fc.constantFrom(...waiters),
  since: fc.constantFrom(1, 5, 9, sharedSince + 1, sharedSince + 5, sharedSince + 9),
});
const anyStep = oneOf<ScriptStep>([
  [
    8,
    steps("call", {
      operations: oneOf([
        [2, anyOperation.map((operation) => [operation])],
        [1, fc.array(anyOperation, { minLength: 2, maxLength: 6 }).map(withoutGivenUp)],
      ]),
      // The owners who give up their claims before these are sent.
      givenUp: oneOf([
        [3, fc.constant<string[]>([])],
        [1, fc.uniqueArray(anyOwner, { maxLength: 2 })],
      ]),
      isGuarded: fc.nat(9).map((draw) => draw === 0),
    }),
  ],
  [3, steps("write", { part: fc.constant("fence"), value: fc.option(anyCounter), ...written })],
  [
    2,
    steps("write", {
      part: fc.constant("lock"),
      value: fc.option(fc.constantFrom(...owners, ...otherValues)),
      ...written,
    }),
  ],
  [1, steps("break", { part: fc.constantFrom(...parts), resource: anyResource })],
  [1, steps("drop", { part: fc.constantFrom(...parts), resource: anyResource })],
  [2, steps("wait", { resource: anyResource, list: fc.array(waiting, { minLength: 1, maxLength: 4 }) })],
  [
    1,
    steps("limit", {
      setting: fc.constantFrom("maxmemory", "min-replicas-to-write"),
      value: fc.constantFrom("0", "1"),
    }),
  ],
]);

/** Any history of operations and of changes between them. */
export const anyHistory: fc.Arbitrary<ScriptStep[]> = fc.array(anyStep, { minLength: 1, maxLength: 14 });

/** The number of histories in a test. */
export const historyCount: number = isNightly ? 500 : 60;

/** A server, with a second connection that receives keyspace events and messages. */
export interface Stage {
  readonly client: Redis;
  readonly subscriber: Redis;
  /** Changes the connection of each node, so that it sends other scripts. */
  readonly wrap?: (connection: RedisConnection) => RedisConnection;
  /** Whether all keys must be in one slot, where the resources share a counter. */
  readonly isCluster: boolean;
}

/** A way to play a history, with keys of its own. */
interface Way {
  readonly name: string;
  /** The part that only the keys of this way contain. In braces it is their hash tag. */
  readonly tag: string;
  /** Whether each operation is a separate call. */
  readonly isAlone: boolean;
  /** Whether all operations go to the lock script. */
  isGeneral: boolean;
  /** Whether the common script has left an operation undone. */
  hasLeft: boolean;
  /** Called when the next call is encoded, and not yet sent. */
  beforeSending: () => void;
  /** A node, and one with a guard that outlasts the history. */
  readonly nodes: readonly [LockNode, LockNode];
}

function wayOf(name: string, { isGeneral, isAlone }: Pick<Way, "isGeneral" | "isAlone">, stage: Stage): Way {
  const { client, isCluster, wrap = (connection) => connection } = stage;
  const connection = wrap(connectionOver(client));
  const runScript: RedisConnection["runScript"] = async (command, script, call) => {
    way.beforeSending();
    const isCommon = script === commonScript.sha || script === commonScript.source;
    if (isCommon && way.isGeneral) {
      const [callId, marks] = call.keysAndArguments().slice(call.keyCount);
      return [Number(callId), ...[...String(marks)].map(() => -1)];
    }
    const reply = (await connection.runScript(command, script, call)) as unknown[];
    way.hasLeft ||= isCommon && reply.includes(-1);
    return reply;
  };
  const tag = isCluster ? `{${name}}` : `<${name}>`;
  const nodeWith = (restartGuardMs: number) =>
    redisNode({ ...connection, runScript }, { prefix: `${tag}:`, verifyServer: false, restartGuardMs });
  const nodes = [nodeWith(0), nodeWith(10 ** 9)] as const;
  const way: Way = { name, tag, isAlone, isGeneral, hasLeft: false, beforeSending() {}, nodes };
  return way;
}

/**
 * Plays a history in all ways, and returns the first difference, or undefined if there is none. Where the server may not
 * write at times, each operation is a call of its own: the server refuses the first write of a call, but none after one
 * that it has allowed.
 */
export async function differenceIn(history: readonly ScriptStep[], stage: Stage): Promise<string | undefined> {
  const { client } = stage;
  await client.flushall();
  await client.config("SET", "notify-keyspace-events", "EA");
  const heard = await listen(stage, "__keyevent@*", `${channelPrefix}*`);
  const nowUs = await timeOf(client);
  const isLimited = history.some((step) => step.do === "limit");
  const general = wayOf("general", { isGeneral: true, isAlone: isLimited }, stage);
  const common = wayOf("common", { isGeneral: false, isAlone: true }, stage);
  const batch = wayOf("batch", { isGeneral: false, isAlone: false }, stage);
  const ways = isLimited ? [common, general] : [common, batch, general];
  const differenceOf = (what: string, effects: ReadonlyMap<Way, unknown>): string | undefined => {
    const [right, ...others] = [general, ...ways].map((way) => plain(effects.get(way), way));
    const other = others.findIndex((effect) => !isAlike(right, effect, nowUs));
    if (other < 0) return undefined;
    return `${what}: ${JSON.stringify(right)} in general, ${ways[other]?.name} ${JSON.stringify(others[other])}`;
  };
  try {
    for (const [index, step] of history.entries()) {
      const replies = new Map<Way, unknown>();
      for (const way of ways) {
        // In a batch, what the common script leaves undone would come after the rest.
        batch.isGeneral = common.hasLeft;
        replies.set(way, await play(step, way, stage, { nowUs, index }));
      }
      common.hasLeft = false;
      const difference =
        differenceOf("the replies", replies) ?? differenceOf("the keys afterwards", await keysOf(ways, stage));
      if (difference !== undefined) return `step ${index + 1}, ${JSON.stringify(step)}: ${difference}`;
    }
  } finally {
    // One by one: Redis 6 takes one setting a command.
    for (const setting of ["maxmemory", "min-replicas-to-write"]) await client.config("SET", setting, "0");
  }
  const messages = await heard.end();
  return differenceOf("the events and messages", new Map(ways.map((way) => [way, messagesOf(way, messages)])));
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

/** Plays one step, and resolves with the replies. */
function play(step: ScriptStep, way: Way, { client }: Stage, moment: Moment): Promise<unknown> {
  return step.do === "call" ? call(step, way, moment) : change(step, `${way.tag}:`, client, moment);
}

/** Changes keys with this prefix, or the server. */
export async function change(
  step: Exclude<ScriptStep, { do: "call" }>,
  prefix: string,
  client: Redis,
  moment: Moment,
): Promise<unknown> {
  if (step.do === "limit") return client.config("SET", step.setting, step.value);
  const key = lockNames(prefix, step.resource)[step.do === "wait" ? "waitingList" : step.part];
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

async function call(step: Extract<ScriptStep, { do: "call" }>, way: Way, moment: Moment): Promise<unknown> {
  const node = way.nodes[step.isGuarded ? 1 : 0];
  const operations = step.operations.map((operation, index) => timed(operation, moment, index));
  const replies: unknown[] = [];
  for (const group of way.isAlone ? operations.map((operation) => [operation]) : [operations]) {
    way.beforeSending = () => {
      way.beforeSending = () => {};
      for (const owner of step.givenUp) ignore(node.release(releaseRequest(owner, ["another"])));
    };
    const asked = group.map((operation) =>
      operate(node, operation).catch(({ message }: Error) =>
        /given up|before it was sent/.test(message) ? "given up" : `error: ${message}`,
      ),
    );
    replies.push(...(await Promise.all(asked)));
  }
  return replies;
}

/** Returns the operation with times of its own. */
function timed(operation: NodeOperation, moment: Moment, index: number): NodeOperation {
  if (operation.do !== "acquire" && operation.do !== "extend") return operation;
  const fence = (number: number) =>
    Number.isInteger(number) ? number : moment.nowUs + (number - fromClock(0)) * hourUs;
  const ttlMs = distinct(operation.request.ttlMs, moment, index);
  if (operation.do === "extend") {
    return { ...operation, request: { ...operation.request, ttlMs, fence: fence(operation.request.fence) } };
  }
  return { ...operation, request: { ...operation.request, ttlMs, fenceHint: fence(operation.request.fenceHint) } };
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
async function keysOf(ways: readonly Way[], { client }: Stage): Promise<ReadonlyMap<Way, unknown>> {
  const entries = (await client.eval(readKeys, 0)) as [string, ...unknown[]][];
  return new Map(
    ways.map((way) => {
      const own = entries.filter(([key]) => key.includes(way.tag)).map((entry) => plain(entry, way) as unknown[]);
      return [way, own.sort((a, b) => (`${a}` < `${b}` ? -1 : 1))];
    }),
  );
}

/** Records what arrives on channels of these patterns until it is ended. */
export async function listen(
  { client, subscriber }: Pick<Stage, "client" | "subscriber">,
  ...patterns: readonly string[]
) {
  const heard: string[] = [];
  const sentinel = `${channelPrefix}end`;
  let onEnd!: () => void;
  const ended = new Promise<void>((resolve) => {
    onEnd = resolve;
  });
  subscriber.removeAllListeners("pmessage").on("pmessage", (_pattern, channel, message) => {
    if (channel === sentinel) onEnd();
    else heard.push(`${channel} ${message}`);
  });
  await subscriber.psubscribe(...patterns);
  return {
    async end(): Promise<readonly string[]> {
      await client.publish(sentinel, "");
      await ended;
      return heard;
    },
  };
}

/** Returns the events and messages of a way. */
function messagesOf({ tag }: Way, messages: readonly string[]): readonly string[] {
  const own = messages.filter((message) => message.includes(tag));
  // The common script writes the counter after the claim, which one step of the server cannot tell apart.
  const isOfCounter = (message: string) => message.includes("holdfast:fence:");
  return [...own.filter(isOfCounter), ...own.filter((message) => !isOfCounter(message))];
}

async function timeOf(client: Redis): Promise<number> {
  const [seconds, microseconds] = await client.time();
  return Number(seconds) * 1_000_000 + Number(microseconds);
}

/** Returns a value without the names of its way, line numbers of the script, and times in marks of shared locks. */
function plain(value: unknown, { tag }: Way): unknown {
  const text = JSON.stringify(value)
    .replaceAll(tag, "{}")
    .replaceAll(/\{[h-o]{6}\}/g, "{slot}")
    .replaceAll(/user_script: ?\d+/g, "user_script")
    .replaceAll(/(?<="holdfast:shared\ufffd)[1-9]\d*(?=")/g, "later");
  return JSON.parse(text);
}

function isAlike(a: unknown, b: unknown, nowUs: number): boolean {
  if (a === b) return true;
  if (isObject(a) && isObject(b)) {
    if (isReserved(a) && isReserved(b)) return true;
    const names = new Set([...Object.keys(a), ...Object.keys(b)]);
    // Claims that are made in one call may end in the same millisecond or not, so any of the resources that one owner
    // holds may be the one that lasts longest.
    const isEither = (name: string) => name === "heldResources" && isObject(a[name]) && isObject(b[name]);
    return [...names].every((name) => isEither(name) || isAlike(a[name], b[name], nowUs));
  }
  if (typeof a !== typeof b || !(typeof a === "number" || typeof a === "string")) return false;
  // A counter and an epoch.
  if (`${a}`.includes(" ")) return isAlike(`${a}`.split(" "), `${b}`.split(" "), nowUs);
  return Math.abs(Number(a) - Number(b)) <= toleranceOf(Number(a), nowUs);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/**
 * Returns whether a denial is due to a writer that waits. Reservations that are made in one call may end in the same
 * millisecond or not, so any of them may be the one that lasts longest.
 */
function isReserved({ retryAfterMs }: Record<string, unknown>): boolean {
  return typeof retryAfterMs === "number" && retryAfterMs > 0 && retryAfterMs <= 1_000;
}

/** Compares values: times, and counters that follow the server's clock, with a tolerance, all else exactly. */
function toleranceOf(value: number, nowUs: number): number {
  if (value < 0) return value === -1 ? 0 : toleranceOf(value - sharedSince, nowUs);
  if (value > 1_000 && value < 10 ** 10) return toleranceMs;
  if (Math.abs(value - nowUs / 1_000) < hourUs / 1_000) return toleranceMs;
  return Math.abs(value - nowUs - 24 * hourUs) < hourUs / 2 ? toleranceMs * 1_000 : 0;
}
