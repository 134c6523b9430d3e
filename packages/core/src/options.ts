import { assertOptions, checkInteger, checkType, wrong } from "./arguments.ts";
import type { Clock } from "./clock.ts";
import { isLabel } from "./errors.ts";
import { driftMs, validityMs } from "./lease.ts";
import type { ExtendOptions } from "./lock.ts";
import type { LockNode } from "./lock-node.ts";
import type { Nesting } from "./nesting.ts";
import { majorityOf, type NodeSets } from "./node-sets.ts";
import type { Observer } from "./observer.ts";
import type { Quorum } from "./votes.ts";

/** How a lock is acquired and kept. Pass them to a call for one lock, or to `Redlock` as the defaults of all its locks. */
export interface LockOptions {
  /**
   * How long the nodes keep a claim that is not extended, in milliseconds: a positive integer. When a holder dies,
   * others wait this long; a holder may rely on its lock for slightly less. Default 10 000.
   */
  readonly ttlMs?: number | undefined;
  /**
   * How long `acquire` and `using` keep trying, in milliseconds. 0 makes one attempt, `Infinity` never gives up. No
   * attempt starts after this time; an attempt in progress is completed. Default 10 000.
   */
  readonly waitTimeoutMs?: number | undefined;
  /**
   * `exclusive`, the default: nobody else has a lock on the resources. `shared`: others may have shared locks on them, as
   * readers do, but nobody an exclusive one. Of two locks on a resource, at least one of them exclusive, the later one
   * has the larger fence; shared locks may have the same.
   */
  readonly mode?: "exclusive" | "shared" | undefined;
  /** Cancels the call when it aborts; the call then rejects with the signal's reason. Has no effect on a held lock. */
  readonly signal?: AbortSignal | undefined;
  /**
   * A human-readable name that prefixes the owner value on the nodes: up to 100 printable characters. Default: none.
   */
  readonly label?: string | undefined;
  /** Whether the lock is extended automatically until it is released. Default: true in `using`, false elsewhere. */
  readonly autoExtend?: boolean | undefined;
  /**
   * The maximum time for which automatic extension keeps a lock, in milliseconds; at least `ttlMs`. Without a limit, a
   * routine that never ends keeps its lock forever. Default `Infinity`.
   */
  readonly maxHoldMs?: number | undefined;
  /**
   * Whether `using`, or an `await using` block, waits for the nodes to confirm the release. If false, it ends one round
   * trip earlier; the lock may then stay held for a moment longer, or until its ttl if the process exits immediately.
   * Either way, a release that too few nodes confirm is not reported as an error. Default true.
   */
  readonly awaitRelease?: boolean | undefined;
}

/** The options of `Redlock.adopt`: those of a lock that the ticket does not determine. */
export interface AdoptOptions extends Omit<LockOptions, "mode" | "waitTimeoutMs"> {}

/** The options of a `Redlock`: what its servers need, and the defaults of its locks. */
export interface RedlockOptions extends LockOptions {
  /**
   * How long to wait for the reply of each node, in milliseconds; less than the ttl of each lock. Default: a twentieth of
   * the ttl, at most 500; or what a slower node suggests, at most half of the ttl. A hanging node costs nothing while the
   * others are a quorum, except for the first lock, which may wait for all nodes. A shorter timeout makes busy nodes look
   * dead.
   */
  readonly nodeTimeoutMs?: number | undefined;
  /** How far clocks may drift apart during the ttl, as a fraction of it, from 0 to below 1. Default 0.01. */
  readonly driftFactor?: number | undefined;
  /**
   * How many nodes must grant: from a majority, the default, to all of them. Not while servers change. With more than a
   * majority, two clients can split the vote, so a lock that several processes want takes longer to get: keep
   * `retryDelayMaxMs` several times as long as a round trip.
   */
  readonly quorum?: number | undefined;
  /** The upper limit of the first random delay between attempts, in milliseconds. Doubles with each one. Default 25. */
  readonly retryDelayMs?: number | undefined;
  /** The upper limit of any delay between attempts, in milliseconds. Default 400. */
  readonly retryDelayMaxMs?: number | undefined;
  /** Receives events; see {@link Observer}. */
  readonly observer?: Observer | undefined;
  /** Replaces the clocks and timers of this process, for tests and simulations. */
  readonly clock?: Clock | undefined;
  /** The maximum number of calls in progress, including `tryAcquire`; further calls are refused. Default 10 000. */
  readonly maxWaiters?: number | undefined;
  /**
   * How many times the set of servers has changed, before a change that is under way. All clients of one set use the same
   * number. Clients with both sets keep the generation of the old set. Nodes do not serve clients that have missed a
   * change, or skip a stage of it. Default 0.
   */
  readonly generation?: number | undefined;
  /**
   * Makes a call within the routine of `using` that would wait for the lock around it reject at once with a
   * {@link LockHeldError}: a `Nesting` of `@holdfast/core/nesting`, for this `Redlock` alone. Without it, such a call waits for
   * all of `waitTimeoutMs`.
   */
  readonly nesting?: Nesting | undefined;
}

/** Complete, checked options. A field is undefined only if its absence has a meaning. */
export interface Settings {
  readonly mode: "exclusive" | "shared";
  readonly ttlMs: number;
  readonly nodeTimeoutMs: number;
  readonly waitTimeoutMs: number;
  readonly driftFactor: number;
  /** How long a lock with `ttlMs` may be relied on, in milliseconds. */
  readonly validityMs: number;
  readonly quorum: Quorum;
  readonly signal: AbortSignal | undefined;
  readonly label: string | undefined;
  readonly retryDelayMs: number;
  readonly retryDelayMaxMs: number;
  readonly autoExtend: boolean | undefined;
  readonly maxHoldMs: number;
  readonly awaitRelease: boolean;
}

/**
 * Returns the default `nodeTimeoutMs` for a ttl: a twentieth of it, rounded up, at most 500 ms. Nodes with a
 * `suggestedTimeoutMs` extend it to their suggestion, at most half of the ttl.
 *
 * @param ttlMs the ttl of the locks, in milliseconds
 * @param nodes the nodes of the `Redlock`, for their suggestions
 *
 * @example
 * ```ts
 * import { defaultNodeTimeoutMs } from "@holdfast/core";
 *
 * console.log(defaultNodeTimeoutMs(5_000)); // 250
 * ```
 */
export function defaultNodeTimeoutMs(ttlMs: number, nodes: readonly LockNode[] = []): number {
  const suggestedMs = Math.max(0, ...nodes.map(({ suggestedTimeoutMs = 0 }) => suggestedTimeoutMs));
  return Math.max(Math.min(500, Math.ceil(ttlMs / 20)), Math.min(suggestedMs, ttlMs / 2));
}

/** The defaults of the options of a lock, and of those that describe the servers. */
const lockDefaults = {
  mode: "exclusive" as Settings["mode"],
  ttlMs: 10_000,
  waitTimeoutMs: 10_000,
  signal: undefined,
  label: undefined,
  autoExtend: undefined,
  maxHoldMs: Infinity,
  awaitRelease: true,
};
const defaults = { ...lockDefaults, driftFactor: 0.01, retryDelayMs: 25, retryDelayMaxMs: 400 };
/** The names of the options of a lock. */
export const lockOptionNames: readonly string[] = Object.keys(lockDefaults);
const settingNames = ["nodeTimeoutMs", "quorum", ...Object.keys(defaults)];
const redlockOptionNames = [...settingNames, "observer", "clock", "maxWaiters", "generation", "nesting"];
/** The options that a call cannot have. */
const ownOptionNames = redlockOptionNames.filter((name) => !lockOptionNames.includes(name));

/** What the options of a `Redlock` come to. */
interface ParsedOptions {
  /** The settings of calls without options. */
  readonly settings: Settings;
  /**
   * Checks the options of a call, and fills in what they leave out. Remembers the last result, as callers mostly repeat
   * their options.
   */
  readonly settingsFor: (options: LockOptions) => Settings;
}

/**
 * Checks the options of a `Redlock`, except those that it uses itself: `observer`, `clock`, `nesting`, `maxWaiters` and
 * `generation`.
 *
 * @param options the options as the caller passed them
 * @param sets the nodes
 * @throws {TypeError} for an unknown option or a value of the wrong type
 * @throws {RangeError} for a value that is out of range or conflicts with another option
 */
export function parseRedlockOptions(options: RedlockOptions, sets: NodeSets): ParsedOptions {
  assertOptions(options, redlockOptionNames, "a Redlock");
  const own = settingsIn(options);
  const settings = complete(own, sets);
  const settingsFor = rememberingLast((given) => {
    const passed: Record<string, unknown> = Object(given);
    const misplaced = Object.keys(passed).find((name) => ownOptionNames.includes(name) && passed[name] !== undefined);
    if (misplaced) throw new TypeError(`${misplaced} is an option of a Redlock, and not of a lock`);
    assertOptions(given, lockOptionNames, "a lock");
    return complete({ ...own, ...settingsIn(given) }, sets);
  });
  return { settings, settingsFor };
}

type GivenSettings = Partial<Omit<Settings, "quorum" | "validityMs">> & Pick<RedlockOptions, "quorum">;

/** Fills in defaults, and checks all settings. */
function complete(given: GivenSettings, sets: NodeSets): Settings {
  const merged = { ...defaults, ...given };
  for (const [name, value] of Object.entries(defaults)) {
    if (value !== undefined) checkType(name, typeof value, merged[name as keyof typeof merged]);
  }
  const { mode, ttlMs, waitTimeoutMs, driftFactor, label, signal, autoExtend } = merged;
  const { retryDelayMs, retryDelayMaxMs, maxHoldMs } = merged;
  insist(["exclusive", "shared"].includes(mode), "mode", "exclusive or shared", mode);
  insist(driftFactor >= 0 && driftFactor < 1, "driftFactor", "from 0 to below 1", driftFactor);
  checkTtl(ttlMs, driftFactor);
  const { nodeTimeoutMs = defaultNodeTimeoutMs(ttlMs, sets.nodes) } = merged;
  checkType("nodeTimeoutMs", "number", nodeTimeoutMs);
  insist(nodeTimeoutMs > 0, "nodeTimeoutMs", "above 0", nodeTimeoutMs);
  insist(nodeTimeoutMs < ttlMs, "ttlMs", `above nodeTimeoutMs, ${nodeTimeoutMs}`, ttlMs);
  insist(waitTimeoutMs >= 0, "waitTimeoutMs", "at least 0", waitTimeoutMs);
  insist(retryDelayMs > 0, "retryDelayMs", "above 0", retryDelayMs);
  const isOrdered = retryDelayMaxMs >= retryDelayMs;
  insist(isOrdered, "retryDelayMaxMs", `at least retryDelayMs, ${retryDelayMs}`, retryDelayMaxMs);
  insist(maxHoldMs >= ttlMs, "maxHoldMs", `at least ttlMs, ${ttlMs}`, maxHoldMs);
  if (autoExtend !== undefined) checkType("autoExtend", "boolean", autoExtend);
  insist(signal === undefined || signal instanceof AbortSignal, "signal", "an AbortSignal", signal, TypeError);
  if (label !== undefined) {
    checkType("label", "string", label);
    insist(isLabel(label), "label", "1 to 100 printable characters", label);
  }
  const quorum = parseQuorum(merged.quorum, sets);
  return { ...merged, nodeTimeoutMs, quorum, validityMs: validityMs(ttlMs, driftFactor) };
}

function parseQuorum(quorum: number | undefined, sets: NodeSets): Quorum {
  const { nodes, isJoint } = sets;
  if (quorum === undefined) return sets.majority;
  checkInteger("quorum", quorum);
  insist(!isJoint, "quorum", "left out while servers change", quorum);
  const least = majorityOf(nodes.length);
  const range = `from the majority, ${least}, to all ${nodes.length} of the nodes`;
  insist(quorum >= least && quorum <= nodes.length, "quorum", range, quorum);
  return sets.quorumOf(quorum);
}

function insist(isAllowed: boolean, name: string, wanted: string, value: unknown, type?: ErrorConstructor): void {
  if (!isAllowed) throw wrong(name, wanted, value, type);
}

/** The given options that are settings. */
function settingsIn(options: RedlockOptions): GivenSettings {
  const isSetting = ([name, value]: [string, unknown]) => value !== undefined && settingNames.includes(name);
  return Object.fromEntries(Object.entries(options).filter(isSetting));
}

/**
 * Caches the settings for the last options, which callers mostly repeat. Compares by content, as callers may mutate
 * them.
 */
function rememberingLast(make: (options: LockOptions) => Settings): (options: LockOptions) => Settings {
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
 * Returns the ttl of an extension.
 *
 * @throws {TypeError | RangeError} for unknown or bad options
 */
export function parseExtension(settings: Settings, options: ExtendOptions | undefined = {}): number {
  assertOptions(options, ["ttlMs"], "an extension");
  const { ttlMs = settings.ttlMs } = options;
  checkTtl(ttlMs, settings.driftFactor);
  return ttlMs;
}

/** @throws {TypeError | RangeError} unless the ttl is a positive integer above the allowance for clock drift */
export function checkTtl(ttlMs: number, driftFactor: number, name: string = "ttlMs"): void {
  checkInteger(name, ttlMs);
  const allowanceMs = driftMs(ttlMs, driftFactor);
  if (ttlMs <= allowanceMs) throw wrong(name, `above the allowance for clock drift, ${allowanceMs} ms`, ttlMs);
}

/**
 * Returns the names to lock without duplicates, in the order that all clients use.
 *
 * @throws {TypeError} unless this is a string or a list of strings, all well-formed Unicode: encoding would make names
 *   that differ only in lone surrogates equal
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

/** ES2024 has this method, and so does every supported runtime, but the type library in use does not. */
type WellFormed = string & { isWellFormed(): boolean };
