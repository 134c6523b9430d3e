import { assertOptions, checkInteger, checkType, describeValue, wrong } from "./arguments.ts";
import type { Clock } from "./clock.ts";
import { isLabel } from "./errors.ts";
import { driftMs } from "./lease.ts";
import type { ExtendOptions } from "./lock.ts";
import type { LockNode } from "./lock-node.ts";
import type { Observer } from "./observer.ts";

/** How locks are acquired and kept. Given to `Redlock` for all its locks, and to a call for one. */
export interface LockOptions {
  /**
   * How long the nodes keep a claim that is not extended, in milliseconds: a positive integer. It is what others wait
   * when a holder dies, and an upper limit to what a holder may rely on. Default 10 000.
   */
  readonly ttlMs?: number | undefined;
  /**
   * How long to wait for the answer of any one node, in milliseconds; less than `ttlMs`. Default: a twentieth of the ttl,
   * at most 500. A node that hangs costs nothing as long as the others are a quorum, but for the first lock, which waits for all
   * nodes; a shorter timeout makes busy nodes look dead.
   */
  readonly nodeTimeoutMs?: number | undefined;
  /**
   * How long `acquire` and `using` go on trying, in milliseconds. 0 makes one attempt, `Infinity` never gives up. No
   * attempt begins later than this; one that has begun is finished. Default 10 000.
   */
  readonly waitTimeoutMs?: number | undefined;
  /** The share of the ttl that clocks may drift apart in that time, from 0 to below 1. Default 0.01. */
  readonly driftFactor?: number | undefined;
  /** How many nodes must grant: from the majority, which is the default, to all of them. */
  readonly quorum?: number | undefined;
  /** Gives up waiting when it aborts; the call then rejects with the signal's reason. It does not end a lock. */
  readonly signal?: AbortSignal | undefined;
  /** A name for people that leads the owner value on the nodes: up to 100 printable characters. */
  readonly label?: string | undefined;
  /** The most that the first random delay between attempts can be, in milliseconds. It doubles with each. Default 25. */
  readonly retryDelayMs?: number | undefined;
  /** The most that any delay between attempts can be, in milliseconds. Default 400. */
  readonly retryDelayMaxMs?: number | undefined;
  /** Whether the lock is extended by itself until it is released. Default true in `using`, false elsewhere. */
  readonly autoExtend?: boolean | undefined;
  /**
   * How long automatic extension keeps a lock at the most, in milliseconds, at least `ttlMs`. A routine that never ends
   * would otherwise keep its lock for ever. Default `Infinity`.
   */
  readonly maxHoldMs?: number | undefined;
  /**
   * Whether `using`, and a block with `await using`, ends only when the nodes have answered the release. If not, it ends a
   * round trip earlier; the lock may then be free only a moment later, and a process that exits at once may leave it to its
   * ttl. A release that too few nodes answer goes unseen either way. Default true.
   */
  readonly awaitRelease?: boolean | undefined;
}

/** What a `Redlock` is made with. */
export interface RedlockOptions extends LockOptions {
  /** Is told what happens; see {@link Observer}. */
  readonly observer?: Observer | undefined;
  /** Replaces the clocks and timers of this process, for tests and simulations. */
  readonly clock?: Clock | undefined;
  /** How many calls may be under way at the same time, those of `tryAcquire` included; one more is refused. Default 10 000. */
  readonly maxWaiters?: number | undefined;
}

/** Complete and checked options: below the edge nothing is optional, other than what may really be absent. */
export interface Settings {
  readonly ttlMs: number;
  readonly nodeTimeoutMs: number;
  readonly waitTimeoutMs: number;
  readonly driftFactor: number;
  readonly quorum: number;
  readonly signal: AbortSignal | undefined;
  readonly label: string | undefined;
  readonly retryDelayMs: number;
  readonly retryDelayMaxMs: number;
  readonly autoExtend: boolean | undefined;
  readonly maxHoldMs: number;
  readonly awaitRelease: boolean;
}

/**
 * The least number of nodes that any two locks must share: ⌊N/2⌋+1, so that two quorums always have a node in common
 * (distlock page, "The Redlock Algorithm", step 3).
 */
export function majorityOf(nodeCount: number): number {
  return Math.floor(nodeCount / 2) + 1;
}

/** Returns the default of `nodeTimeoutMs` for a ttl: a twentieth of it, rounded up, and at most 500 ms. */
export function defaultNodeTimeoutMs(ttlMs: number): number {
  return Math.min(500, Math.ceil(ttlMs / 20));
}

/** The options of a lock, with their defaults. */
const defaults: Omit<Settings, "nodeTimeoutMs" | "quorum"> = {
  ttlMs: 10_000,
  waitTimeoutMs: 10_000,
  driftFactor: 0.01,
  signal: undefined,
  label: undefined,
  retryDelayMs: 25,
  retryDelayMaxMs: 400,
  autoExtend: undefined,
  maxHoldMs: Infinity,
  awaitRelease: true,
};
const lockOptionNames = ["nodeTimeoutMs", "quorum", ...Object.keys(defaults)];

/**
 * Checks options, and completes them.
 *
 * @param options of a call, or of a `Redlock`
 * @param nodeCount how many nodes there are
 * @param base the options that hold unless these say otherwise
 * @throws {TypeError} for an option that is unknown or not of its type
 * @throws {RangeError} for one that is out of its range, or does not fit the others
 */
export function parseLockOptions(options: LockOptions, nodeCount: number, base: LockOptions = {}): Settings {
  assertOptions(options, lockOptionNames, "a lock");
  const majority = majorityOf(nodeCount);
  const merged = { ...defaults, quorum: majority, ...withoutUndefined(base), ...withoutUndefined(options) };
  const { ttlMs, waitTimeoutMs, quorum, driftFactor, label, signal, autoExtend } = merged;
  const { retryDelayMs, retryDelayMaxMs, maxHoldMs, awaitRelease } = merged;
  checkType("driftFactor", "number", driftFactor);
  insist(driftFactor >= 0 && driftFactor < 1, "driftFactor", "from 0 to below 1", driftFactor);
  checkTtl(ttlMs, driftFactor);
  const { nodeTimeoutMs = defaultNodeTimeoutMs(ttlMs) } = merged;
  for (const [name, value] of Object.entries({
    nodeTimeoutMs,
    waitTimeoutMs,
    retryDelayMs,
    retryDelayMaxMs,
    maxHoldMs,
  })) {
    checkType(name, "number", value);
  }
  const isInTtl = nodeTimeoutMs > 0 && nodeTimeoutMs < ttlMs;
  insist(isInTtl, "nodeTimeoutMs", `above 0 and less than ttlMs, ${ttlMs}`, nodeTimeoutMs);
  insist(waitTimeoutMs >= 0, "waitTimeoutMs", "at least 0", waitTimeoutMs);
  checkInteger("quorum", quorum);
  const range = `from the majority, ${majority}, to all ${nodeCount} of the nodes`;
  insist(quorum >= majority && quorum <= nodeCount, "quorum", range, quorum);
  insist(retryDelayMs > 0, "retryDelayMs", "above 0", retryDelayMs);
  const isOrdered = retryDelayMaxMs >= retryDelayMs;
  insist(isOrdered, "retryDelayMaxMs", `at least retryDelayMs, ${retryDelayMs}`, retryDelayMaxMs);
  insist(maxHoldMs >= ttlMs, "maxHoldMs", `at least ttlMs, ${ttlMs}`, maxHoldMs);
  if (autoExtend !== undefined) checkType("autoExtend", "boolean", autoExtend);
  checkType("awaitRelease", "boolean", awaitRelease);
  insist(signal === undefined || signal instanceof AbortSignal, "signal", "an AbortSignal", signal, TypeError);
  if (label !== undefined) {
    checkType("label", "string", label);
    insist(isLabel(label), "label", "1 to 100 printable characters", label);
  }
  return { ...merged, nodeTimeoutMs };
}

function insist(isAllowed: boolean, name: string, wanted: string, value: unknown, type?: ErrorConstructor): void {
  if (!isAllowed) throw wrong(name, wanted, value, type);
}

function withoutUndefined(options: LockOptions): Partial<Settings> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** Remembers what was made of the last options, as callers mostly give the same: by content, as they may be changed. */
export function rememberingLast(make: (options: LockOptions) => Settings): (options: LockOptions) => Settings {
  let last: LockOptions | undefined;
  let made: Settings;
  return (options) => {
    if (last === undefined || !isSame(last, options)) {
      made = make(options);
      last = { ...options };
    }
    return made;
  };
}

function isSame(a: LockOptions, b: LockOptions): boolean {
  if (typeof b !== "object" || b === null || Object.getPrototypeOf(b) !== Object.prototype) return false;
  const names = Object.keys(b) as (keyof LockOptions)[];
  return names.length === Object.keys(a).length && names.every((name) => Object.hasOwn(a, name) && a[name] === b[name]);
}

/**
 * The ttl of an extension.
 *
 * @throws {TypeError | RangeError} for options that are unknown or bad
 */
export function parseExtension(settings: Settings, options: ExtendOptions | undefined = {}): number {
  assertOptions(options, ["ttlMs"], "an extension");
  const { ttlMs = settings.ttlMs } = options;
  checkTtl(ttlMs, settings.driftFactor);
  return ttlMs;
}

/** @throws {RangeError} if the ttl is no positive integer, or so short that drift leaves nothing of it */
function checkTtl(ttlMs: number, driftFactor: number): void {
  checkInteger("ttlMs", ttlMs);
  const allowanceMs = driftMs(ttlMs, driftFactor);
  if (ttlMs <= allowanceMs) throw wrong("ttlMs", `above the allowance for clock drift, ${allowanceMs} ms`, ttlMs);
}

/**
 * The names to lock, in the one order in which all clients ask for them, each once.
 *
 * @throws {TypeError} unless it is a string or a list of strings that are not empty and are well-formed Unicode: two
 *   names with lone surrogates would be one and the same once they are encoded
 * @throws {RangeError} for an empty list or an empty name
 */
export function parseResources(resources: string | readonly string[]): readonly string[] {
  const names = typeof resources === "string" ? [resources] : resources;
  if (!Array.isArray(names)) throw wrong("resources", "a string or a list of strings", resources, TypeError);
  if (names.length === 0) throw new RangeError("resources must name at least one resource, not none");
  for (const name of names) {
    if (typeof name !== "string") throw wrong("a resource", "a string", name, TypeError);
    if (name === "") throw new RangeError("a resource must not be an empty string");
    if (!(name as WellFormed).isWellFormed()) throw wrong("a resource", "well-formed Unicode", name, TypeError);
  }
  return Object.freeze(names === resources ? [...new Set<string>(names)].sort() : names);
}

/** In ES2024, and so in every runtime that is supported, but not in the library that is compiled against. */
type WellFormed = string & { isWellFormed(): boolean };

/**
 * The nodes, as they were given.
 *
 * @throws {TypeError} for what is not a list of lock nodes
 * @throws {RangeError} for an empty list, and for the same node or the same name twice: it would vote twice
 */
export function parseNodes(nodes: readonly LockNode[]): readonly LockNode[] {
  if (!Array.isArray(nodes)) throw notNodes("nodes", "a list of lock nodes", nodes);
  if (nodes.length === 0) throw new RangeError("nodes must have at least one lock node, not none");
  const names = new Set<string>();
  for (const node of nodes as readonly (LockNode | null | undefined)[]) {
    const methods = [node?.acquire, node?.extend, node?.release];
    if (!methods.every((method) => typeof method === "function")) {
      throw notNodes("a node", "a lock node with acquire, extend and release", node);
    }
    const name: unknown = node?.name;
    if (typeof name !== "string" || name === "") throw wrong("a node's name", "a string with content", name, TypeError);
    if (names.has(name)) {
      throw new RangeError(`nodes must be different, and so must their names: two are called ${name}`);
    }
    names.add(name);
  }
  return Object.freeze([...nodes]);
}

/** What makes nodes of clients, by a method that tells the clients of one library from all others. */
const wrappers = { evalsha: "ioredisNode", evalSha: "nodeRedisNode", customCommand: "valkeyGlideNode" };

/** The most common slip: clients in the place of lock nodes. */
function notNodes(name: string, wanted: string, value: unknown): Error {
  const [, wrapper] = Object.entries(wrappers).find(([method]) => typeof Object(value)[method] === "function") ?? [];
  const advice = wrapper === undefined ? "" : `: wrap each client with ${wrapper}(client)`;
  return new TypeError(`${name} must be ${wanted}, not ${describeValue(value)}${advice}`);
}

/** The names of the options of a `Redlock`, other than those of its locks. */
const redlockOptionNames = ["observer", "clock", "maxWaiters"];

/**
 * Throws unless these are options of a `Redlock`. Those of its locks are left to {@link parseLockOptions}.
 *
 * @throws {TypeError}
 */
export function assertRedlockOptions(options: unknown): asserts options is RedlockOptions {
  assertOptions(options, [...redlockOptionNames, ...lockOptionNames], "a Redlock");
}
