import { type Clock, InvalidReplyError, type JointSet, NodeTimeoutError, systemClock } from "@holdfast/core";
import {
  assertOptions,
  checkInteger,
  checkMethods,
  clientsOf,
  type Floor,
  type LockNode,
  type ScannedClaim,
  type ScanPortion,
  type ScanRequest,
  servedBy,
} from "@holdfast/core/node";

/** The options that all operations on servers share. */
export interface MembershipOptions {
  /** How long each node may take for one request, in milliseconds. Requests are repeated a few times. Default 5 000. */
  readonly nodeTimeoutMs?: number | undefined;
  /**
   * How long attempts and locks of an earlier time may last, in milliseconds. The operations say what they do with it.
   * Default 60 000.
   */
  readonly settleMs?: number | undefined;
  /** Ends the operation when it aborts, with the signal's reason. The operation can be repeated: what it wrote is safe. */
  readonly signal?: AbortSignal | undefined;
  /** Replaces the clocks and timers of this process, for tests and simulations. */
  readonly clock?: Clock | undefined;
  /** Called while the operation reads or waits. Its errors are ignored. */
  readonly onProgress?: ((progress: MembershipProgress) => void) | undefined;
}

/** What an operation is doing. */
export type MembershipProgress =
  | {
      /** Reads the fence counters of a node. */
      readonly doing: "reading";
      /** The name of the node. */
      readonly node: string;
      /** How many counters were read. */
      readonly counters: number;
      /** The highest of them, or the floor if that is higher. */
      readonly highest: number;
      /** Whether all of them were read. */
      readonly done: boolean;
    }
  | {
      /** Waits until attempts and claims of an earlier time have ended. */
      readonly doing: "waiting";
      /** The claims of clients of earlier stages that are in force; empty when healing. */
      readonly claims: readonly EarlierClaim[];
      /** How long it will wait at least from now, in milliseconds. */
      readonly leftMs: number;
    };

/** A claim of a client that is in an earlier stage of the change. */
export interface EarlierClaim extends ScannedClaim {
  /** The label of the owner, or null. */
  readonly label: string | null;
  /**
   * Names the client's stage: "generation 0", also for clients that have none, such as those of other libraries, or
   * "generation 0 with both sets".
   */
  readonly clients: string;
  /** The names of the nodes that have the claim. */
  readonly nodes: readonly string[];
}

/** A node that failed. */
export interface NodeFailure {
  /** The name of the node. */
  readonly node: string;
  /** Its error. */
  readonly error: Error;
}

/** The floor and the epoch of a node, or its error. */
export interface NodeFloor {
  /** The name of the node. */
  readonly node: string;
  /** Its floor and epoch, or null if it failed. `servedBy` of `@holdfast/core/node` names the clients that it serves. */
  readonly floor: Floor | null;
  /** Its error, or null if it replied. */
  readonly error: Error | null;
}

/**
 * An operation on servers could not go on: too few nodes replied, or clients of earlier stages still lock. The
 * operation can be repeated: what it wrote is safe. `cause` is the error of the first node that failed.
 *
 * @example
 * ```ts
 * import { heal, MembershipError } from "@holdfast/membership";
 *
 * const nodes = ["a", "b", "c"].map((name) => memoryNode({ name }));
 * try {
 *   await heal(nodes, "c", { settleMs: 1_000 });
 * } catch (error) {
 *   if (!(error instanceof MembershipError)) throw error;
 *   for (const { node, error: reason } of error.failures) console.error(node, reason.message);
 * }
 * ```
 */
export class MembershipError extends Error {
  /** The `code` of these errors. */
  static readonly code = "MEMBERSHIP";
  /** The name of the class. */
  override readonly name = "MembershipError";
  /** Identifies the condition. */
  readonly code = "MEMBERSHIP";
  /** The nodes that failed. */
  readonly failures: readonly NodeFailure[];
  /** The claims of clients that are in an earlier stage. */
  readonly claims: readonly EarlierClaim[];

  /**
   * @param message what could not be done, and why
   * @param failures the nodes that failed
   * @param claims the claims of clients that are in an earlier stage
   */
  constructor(message: string, failures: readonly NodeFailure[] = [], claims: readonly EarlierClaim[] = []) {
    const reasons = failures.map(({ node, error }) => `${node} failed: ${error.message}`);
    const [first] = failures;
    super([message, ...reasons].join("; "), first && { cause: first.error });
    this.failures = failures;
    this.claims = claims;
  }
}

/** How often a request to a node is repeated, and how long to wait before, in milliseconds. */
const repeatsMax = 3;
const repeatDelayMs = 200;

/** Nodes, and how many of them are needed. */
export interface Quorum {
  /** What the nodes are, for errors. */
  readonly which: string;
  readonly nodes: readonly LockNode[];
  readonly needed: number;
}

/** Sends requests to nodes for one operation. */
export class Operation {
  readonly clock: Clock;
  readonly settleMs: number;
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal | undefined;
  readonly #onProgress: (progress: MembershipProgress) => void;

  /** @throws {TypeError | RangeError} for an unknown or bad option */
  constructor(options: MembershipOptions, names: readonly string[], subject: string) {
    assertOptions(options, ["nodeTimeoutMs", "settleMs", "signal", "clock", "onProgress", ...names], subject);
    const { nodeTimeoutMs = 5_000, settleMs = 60_000, signal, clock = systemClock, onProgress = () => {} } = options;
    checkInteger("nodeTimeoutMs", nodeTimeoutMs);
    if (settleMs !== 0) checkInteger("settleMs", settleMs);
    checkMethods("clock", ["monotonicMs", "startTimer", "afterPendingIo"], clock);
    if (signal !== undefined) checkMethods("signal", ["addEventListener", "throwIfAborted"], signal);
    if (typeof onProgress !== "function") throw new TypeError("onProgress must be a function");
    this.clock = clock;
    this.settleMs = settleMs;
    this.#timeoutMs = nodeTimeoutMs;
    this.#signal = signal;
    this.#onProgress = onProgress;
  }

  /** Reports what the operation is doing. */
  report(progress: MembershipProgress): void {
    try {
      this.#onProgress(progress);
    } catch {
      // An error here is neither the fault of a node nor a reason to stop half-way.
    }
  }

  /** Waits, unless the signal aborts. */
  pause(delayMs: number): Promise<void> {
    return this.#within(delayMs, () => new Promise<void>(() => {}), undefined);
  }

  /** Raises the floor and the epoch of a node; zeros read them. */
  raise(node: LockNode, least: Floor): Promise<Floor> {
    const { floor, epoch } = least;
    const send = (timeoutMs: number) => node.raiseFloor?.({ floor, epoch, timeoutMs });
    return this.#ask(node, send, (value) => readFloor(value, least));
  }

  /** Reads all portions of a node. Returns its floor and epoch, its highest counter or floor, and its claims if wanted. */
  async read(node: LockNode, wants: Pick<ScanRequest, "claims"> = {}): Promise<NodeContent> {
    const before = await this.raise(node, { floor: 0, epoch: 0 });
    const claims: ScannedClaim[] = [];
    let counters = 0;
    let highest = before.floor;
    let cursor: string | undefined;
    do {
      const given = { ...wants, ...(cursor !== undefined && { cursor }) };
      const send = (timeoutMs: number) => node.scan?.({ ...given, timeoutMs });
      const portion = await this.#ask(node, send, (value) => readPortion(value, cursor));
      for (const claim of portion.claims) claims.push(claim);
      counters += portion.counters;
      highest = Math.max(highest, portion.highest);
      cursor = portion.cursor;
      this.report({ doing: "reading", node: node.name, counters, highest, done: cursor === undefined });
      // A node that reads a file or memory of this process would otherwise block the event loop until the end.
      await new Promise<void>((resolve) => this.clock.afterPendingIo(resolve));
    } while (cursor !== undefined);
    return { ...before, counters, highest, claims };
  }

  /**
   * Does something on all of these nodes at the same time. Returns the results by node.
   *
   * @throws {MembershipError} unless enough nodes of each set have done it
   */
  async onQuorum<T>(
    what: string,
    sets: readonly Quorum[],
    act: (node: LockNode) => Promise<T>,
  ): Promise<Map<LockNode, T>> {
    const nodes = [...new Set(sets.flatMap((set) => set.nodes))];
    const { results, failures } = await this.onEach(nodes, act);
    for (const { which, nodes: members, needed } of sets) {
      const count = members.filter((node) => results.has(node)).length;
      if (count >= needed) continue;
      throw new MembershipError(
        `could not ${what}: ${count} of ${members.length} ${which} did, ${needed} needed`,
        failures,
      );
    }
    return results;
  }

  /** Does something on all of these nodes at the same time; reports in their order. Rejects only when the signal aborts. */
  async onEach<T>(
    nodes: readonly LockNode[],
    act: (node: LockNode) => Promise<T>,
  ): Promise<{ results: Map<LockNode, T>; failures: NodeFailure[] }> {
    const settled = await Promise.allSettled(nodes.map(act));
    this.#signal?.throwIfAborted();
    const results = new Map<LockNode, T>();
    const failures: NodeFailure[] = [];
    for (const [index, node] of nodes.entries()) {
      const outcome = settled[index] as PromiseSettledResult<T>;
      if (outcome.status === "fulfilled") results.set(node, outcome.value);
      else failures.push({ node: node.name, error: toError(outcome.reason) });
    }
    return { results, failures };
  }

  /** Sends a request, and repeats it if it fails. */
  async #ask<T>(
    node: LockNode,
    send: (timeoutMs: number) => Promise<T> | undefined,
    read: (value: unknown) => T,
  ): Promise<T> {
    if (node.raiseFloor === undefined || node.scan === undefined) {
      throw new Error("does not implement raiseFloor() and scan(): its counters cannot be read or raised");
    }
    for (let repeats = 0; ; repeats++) {
      try {
        const timeoutMs = this.#timeoutMs;
        const timeout = new NodeTimeoutError(timeoutMs);
        timeout.message += " (nodeTimeoutMs)";
        return read(await this.#within(timeoutMs, () => send(timeoutMs) as Promise<T>, timeout));
      } catch (error) {
        this.#signal?.throwIfAborted();
        if (repeats === repeatsMax) throw error;
        await this.pause(repeatDelayMs * 2 ** repeats);
      }
    }
  }

  /** Settles as `act`, but rejects when the signal aborts, and after some time, with `late`; resolves if that is undefined. */
  #within<T>(timeMs: number, act: () => Promise<T>, late: Error | undefined): Promise<T> {
    const signal = this.#signal;
    return new Promise<T>((resolve, reject) => {
      signal?.throwIfAborted();
      const end = (): void => {
        cancelTimer();
        signal?.removeEventListener("abort", onAbort);
      };
      const onAbort = (): void => {
        end();
        reject(signal?.reason);
      };
      const cancelTimer = this.clock.startTimer(timeMs, () => {
        end();
        if (late === undefined) resolve(undefined as T);
        else reject(late);
      });
      signal?.addEventListener("abort", onAbort);
      const settle = async (): Promise<T> => act();
      void settle().finally(end).then(resolve, reject);
    });
  }
}

/** All that a node keeps. */
export interface NodeContent extends Floor {
  readonly counters: number;
  /** The highest counter, or the floor if that is higher. */
  readonly highest: number;
  readonly claims: readonly ScannedClaim[];
}

/**
 * Returns the nodes in sets, each with the size of a majority: one set, or the old one and the new one.
 *
 * @throws {TypeError} unless these are lists of lock nodes, none of them empty
 * @throws {RangeError} for a duplicate node or name
 */
export function quorumsOf(given: readonly LockNode[] | JointSet): readonly Quorum[] {
  const { old, new: next } = Object(given) as Partial<JointSet>;
  if (old === undefined || next === undefined) return [quorumOf("nodes", "nodes", given)];
  const quorums = [quorumOf("old nodes", "old", old), quorumOf("new nodes", "new", next)];
  assertDistinct("nodes", [...new Set([...old, ...next])]);
  return quorums;
}

/**
 * Throws if a node is further than the change of clients of this epoch takes it: the generation is that of an earlier change.
 *
 * @throws {MembershipError} such as "c serves clients of generation 1: the clients before this change cannot be …"
 */
export function assertNotLater(found: ReadonlyMap<LockNode, Floor>, epoch: number, next: Quorum): void {
  for (const [node, { epoch: reached }] of found) {
    if (reached <= latestOf(node, epoch, next)) continue;
    const message = `${node.name} serves ${servedBy(reached)}: the clients before this change cannot be of ${clientsOf(epoch)}`;
    throw new MembershipError(message);
  }
}

/**
 * Returns the highest epoch that a change of clients of this epoch gives to a node. The end of the change refuses joint
 * clients on the new set only: a node of the old set alone that were as far would look as before the next change.
 */
export function latestOf(node: LockNode, epoch: number, next: Quorum): number {
  return next.nodes.includes(node) ? epoch + 4 : epoch + 3;
}

function quorumOf(which: string, name: string, nodes: unknown): Quorum {
  const isNode = (node: unknown) => typeof (Object(node) as Partial<LockNode>).name === "string";
  if (!Array.isArray(nodes) || nodes.length === 0 || !nodes.every(isNode)) {
    throw new TypeError(`${name} must be a list of at least one lock node`);
  }
  assertDistinct(name, nodes);
  return { which, nodes, needed: Math.floor(nodes.length / 2) + 1 };
}

/** Throws if two nodes have the same name: a node that is listed twice would count twice. */
function assertDistinct(list: string, nodes: readonly LockNode[]): void {
  const names = nodes.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice === undefined) return;
  throw new RangeError(`${list} and their names must be distinct: two are called ${twice}`);
}

/** Returns the epoch and the label of the client that signs with this value. */
export function signerOf(owner: string): { readonly epoch: number; readonly label: string | null } {
  const [, label = null, epoch = "1"] = /^(?:(.+):)?[0-9a-f]{32}(?:\.(\d+))?$/s.exec(owner) ?? [];
  return { label, epoch: Number(epoch) };
}

function readFloor(value: unknown, least: Floor): Floor {
  const { floor, epoch } = Object(value) as Partial<Floor>;
  if (!isCount(floor) || !isCount(epoch)) throw new InvalidReplyError("answered raiseFloor() with something else");
  if (floor < least.floor || epoch < least.epoch) throw new InvalidReplyError("answered raiseFloor() without raising");
  return { floor, epoch };
}

function readPortion(value: unknown, given: string | undefined): ScanPortion {
  const { counters, highest, claims, cursor } = Object(value) as Partial<ScanPortion>;
  const hasCursor = cursor === undefined || (typeof cursor === "string" && cursor !== "");
  if (!isCount(counters) || !isCount(highest) || !Array.isArray(claims) || !claims.every(isClaim) || !hasCursor) {
    throw new InvalidReplyError("answered scan() with something else");
  }
  if (cursor === undefined) return { counters, highest, claims };
  if (cursor === given) throw new InvalidReplyError("answered scan() with the cursor that it was given");
  return { counters, highest, claims, cursor };
}

function isClaim(value: unknown): boolean {
  const { resource, owner, remainingMs } = Object(value) as Partial<ScannedClaim>;
  return typeof resource === "string" && typeof owner === "string" && typeof remainingMs === "number";
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
