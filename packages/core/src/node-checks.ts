/*
 * What a node checks before it grants anything: that the contract allows the request, and that its server may vote.
 */
import { describeValue } from "./arguments.ts";
import { ConfigurationError, reasonOf } from "./errors.ts";
import type { FloorRequest } from "./fence-floor.ts";
import type {
  AcquireRequest,
  ExtendRequest,
  NodeRequest,
  ReleaseRequest,
  ServerVote,
  ServerVotes,
} from "./lock-node.ts";

/**
 * Throws unless the contract allows this acquire request, so that a node never claims anything by guesswork.
 *
 * @throws {RangeError} naming the field and its required value
 *
 * @example
 * ```ts
 * import { type AcquireRequest, assertAcquire } from "@holdfast/core/node";
 *
 * async function acquire(request: AcquireRequest) {
 *   assertAcquire(request);
 *   // … claim the resources
 * }
 * await acquire({ resources: ["r"], owner: "me", ttlMs: 1_000, fenceHint: 1, timeoutMs: 50 });
 * ```
 */
export function assertAcquire(request: AcquireRequest): void {
  const { ttlMs, fenceHint, shared, epoch } = request;
  assertNames(request);
  if (!(Number.isSafeInteger(ttlMs) && ttlMs > 0)) refuse("ttlMs must be a positive integer", ttlMs);
  if (!Number.isSafeInteger(fenceHint)) refuse("fenceHint must be a safe integer", fenceHint);
  if (!(shared === undefined || typeof shared === "boolean")) refuse("shared must be true or false if given", shared);
  const isEpoch = epoch === undefined || (Number.isSafeInteger(epoch) && epoch > 0);
  if (!isEpoch) refuse("epoch must be a positive integer if given", epoch);
}

/**
 * Throws unless the contract allows this extend request.
 *
 * @throws {RangeError} naming the field and its required value
 *
 * @example
 * ```ts
 * import { assertExtend } from "@holdfast/core/node";
 *
 * assertExtend({ resources: ["r"], owner: "me", ttlMs: 1_000, fence: 1, rejoin: false, timeoutMs: 50 });
 * ```
 */
export function assertExtend(request: ExtendRequest): void {
  const { ttlMs, fence, rejoin, shared } = request;
  assertNames(request);
  if (!(Number.isSafeInteger(ttlMs) && ttlMs > 0)) refuse("ttlMs must be a positive integer", ttlMs);
  if (!(Number.isSafeInteger(fence) && fence > 0)) refuse("fence must be a positive safe integer", fence);
  if (typeof rejoin !== "boolean") refuse("rejoin must be true or false", rejoin);
  if (!(shared === undefined || typeof shared === "boolean")) refuse("shared must be true or false if given", shared);
}

/**
 * Throws unless the contract allows this release request.
 *
 * @throws {RangeError} naming the field and its required value
 *
 * @example
 * ```ts
 * import { assertRelease } from "@holdfast/core/node";
 *
 * assertRelease({ resources: ["r"], owner: "me", timeoutMs: 50 });
 * ```
 */
export function assertRelease(request: ReleaseRequest): void {
  const { undo } = request;
  assertNames(request);
  if (!(undo === undefined || typeof undo === "boolean")) refuse("undo must be true or false if given", undo);
}

/**
 * Throws unless the contract allows this request to raise the floor.
 *
 * @param request as the node received it
 * @throws {RangeError} naming the field and its required value
 *
 * @example
 * ```ts
 * import { assertFloor } from "@holdfast/core/node";
 *
 * assertFloor({ floor: 1_700_000_000_000_000, epoch: 2, timeoutMs: 50 });
 * ```
 */
export function assertFloor({ floor, epoch }: FloorRequest): void {
  if (!(Number.isSafeInteger(floor) && floor >= 0)) refuse("floor must be a safe integer, 0 or above", floor);
  if (!(Number.isSafeInteger(epoch) && epoch >= 0)) refuse("epoch must be a safe integer, 0 or above", epoch);
}

function assertNames(request: NodeRequest & Pick<AcquireRequest, "waiter" | "takeover">): void {
  const { resources, owner, waiter = owner, takeover = owner } = request;
  const isList = Array.isArray(resources) && resources.length > 0;
  if (!isList) refuse("resources must be a list of at least one name", resources);
  for (const name of resources)
    if (typeof name !== "string" || !name) refuse("each resource must be a non-empty string", name);
  if (typeof owner !== "string" || !owner) refuse("owner must be a non-empty string", owner);
  if (typeof waiter !== "string" || !waiter) refuse("waiter must be a non-empty string if given", waiter);
  if (typeof takeover !== "string" || !takeover) refuse("takeover must be a non-empty string if given", takeover);
}

function refuse(rule: string, value: unknown): never {
  throw new RangeError(`${rule}, not ${describeValue(value)}`);
}

/** The identity of a server. */
export interface ServerIdentity {
  /**
   * A text that no other server has, whatever its address, such as "run_id 4f1c" or "cluster_id 17"; undefined if it cannot
   * be found out. It may change with each start.
   */
  readonly id: string | undefined;
  /** Whether the server follows another one, which makes its votes worthless. */
  readonly isReplica: boolean;
}

/** How long to remember that a node has left a server: longer than any attempt takes. */
const forgetAfterMs = 3_600_000;

/**
 * Decides whether a node may vote: not on a replica, and not on a server on which another node of the same `Redlock`
 * votes, as a server that counts twice breaks the majority. The nodes of a `Redlock` share the map `servers` of their
 * requests, which names the voting node for each server. A node with such a check sets `verifiesServer`.
 *
 * @example
 * ```ts
 * import { type AcquireReply, type AcquireRequest, ServerCheck } from "@holdfast/core/node";
 *
 * interface Store {
 *   claim(request: AcquireRequest): Promise<AcquireReply>;
 *   uniqueId(timeoutMs: number): Promise<string>;
 * }
 *
 * function verified(name: string, store: Store) {
 *   const check = new ServerCheck(name, async ({ timeoutMs }) => {
 *     return { id: await store.uniqueId(timeoutMs), isReplica: false };
 *   });
 *   return (request: AcquireRequest) => check.vote(request, () => store.claim(request));
 * }
 * ```
 */
export class ServerCheck {
  readonly #identify: (request: AcquireRequest) => Promise<ServerIdentity>;
  #identity: ServerIdentity | undefined;
  /** The entry of this node for the present server, in the maps of all `Redlock`s that use it. */
  #vote: ServerVote;
  #wasMaster = false;
  #identifying: Promise<void> | undefined;
  /** Why the server did not tell its identity. */
  #whyUnknown = new Error("no answer");
  /** Whether a claim has failed since, so that another server may be there. */
  #isDoubtful = false;

  /**
   * @param name the name of the node
   * @param identify asks the server for its identity; must settle within the `timeoutMs` of the request, because the node
   *   votes for nobody until then
   */
  constructor(name: string, identify: (request: AcquireRequest) => Promise<ServerIdentity>) {
    this.#vote = { node: name };
    this.#identify = identify;
  }

  /**
   * Call this before a claim is sent. If the identity of the server is unknown, it is requested ahead of the claim, so
   * that both take one round trip; {@link verify} then waits for the answer.
   *
   * @returns whether the reply to the claim needs {@link verify}
   * @throws {ConfigurationError} if the node may not vote. It is a plain `Error` if the reason may pass, as when a
   *   master has become a replica: then one server fails, which is no reason to stop using the others
   */
  begin(request: AcquireRequest): boolean {
    const identity = this.#identity;
    // A replica may have been promoted meanwhile.
    if (identity === undefined || identity.isReplica) {
      this.#identifying ??= this.#ask(request);
      return true;
    }
    const isVoter = request.servers?.get(identity.id as string) === this.#vote;
    if (!isVoter) this.#assertMayVote(request, performance.now());
    return false;
  }

  /**
   * Sends a claim if the node may vote: the simple way, for nodes that are not told when they reach another server. Asks for
   * the identity before the first claim, and again after a claim that failed. Only nodes beside others are checked.
   *
   * @param request the claim
   * @param send sends it
   * @throws {ConfigurationError | Error} as {@link begin}, an error if the server did not tell its identity, and what `send`
   *   throws
   */
  async vote<Reply>(request: AcquireRequest, send: () => Promise<Reply>): Promise<Reply> {
    if (request.servers === undefined) return send();
    const startedAtMs = performance.now();
    if (this.#identity === undefined || this.#isDoubtful) {
      this.#isDoubtful = false;
      this.#identifying ??= this.#ask(request);
    }
    await this.#identifying;
    if (this.#identity === undefined) throw new Error(`could not identify the server: ${reasonOf(this.#whyUnknown)}`);
    this.#assertMayVote(request, startedAtMs);
    try {
      return await send();
    } catch (error) {
      this.#isDoubtful = true;
      throw error;
    }
  }

  /**
   * Settles like the reply to a claim once the identity of the server is known, too; rejects if the node may not vote.
   * The grant may stand: core releases it.
   */
  async verify<Reply>(request: AcquireRequest, reply: Promise<Reply>): Promise<Reply> {
    const startedAtMs = performance.now();
    const identifying = this.#identifying;
    try {
      return await reply;
    } finally {
      // Check even if the claim failed: on a replica, this error says why.
      await identifying;
      this.#assertMayVote(request, startedAtMs);
    }
  }

  /**
   * Forgets the identity of the server, because another one may have taken its place, and ignores an answer that is
   * still in flight. Until the next answer, the node votes nowhere: another node found on the old server may vote
   * there.
   */
  invalidate(): void {
    this.#identifying = undefined;
    this.#identity = undefined;
    this.#leave();
  }

  #leave(): void {
    this.#vote.leftAtMs = performance.now();
    this.#vote = { node: this.#vote.node };
  }

  #ask(request: AcquireRequest): Promise<void> {
    const asking = this.#identify(request).then(
      (identity) => {
        if (this.#identifying !== asking) return;
        this.#identifying = undefined;
        if (this.#identity !== undefined && this.#identity.id !== identity.id) this.#leave();
        this.#identity = identity;
      },
      (error: Error) => {
        this.#whyUnknown = error;
        // A known identity, above all a refusal, does not hold for a server that no longer answers.
        if (this.#identifying === asking) this.invalidate();
      },
    );
    return asking;
  }

  #assertMayVote(request: AcquireRequest, startedAtMs: number): void {
    if (this.#identity === undefined) return;
    const refusal = this.#refusalOf(request, this.#identity, startedAtMs);
    this.#wasMaster ||= refusal === undefined;
    if (refusal === undefined) return;
    // The mistake may be corrected by the next claim, which then need not wait for the answer. It asks a replica itself.
    if (!this.#identity.isReplica) this.#identifying ??= this.#ask(request);
    throw refusal;
  }

  /** Returns why the node may not vote. Another reason than a `ConfigurationError` may pass. */
  #refusalOf(request: AcquireRequest, identity: ServerIdentity, startedAtMs: number): Error | undefined {
    const { id, isReplica } = identity;
    const { servers, resources } = request;
    if (isReplica) {
      const reason = "the server is a replica: only independent masters may vote";
      return this.#wasMaster ? new Error(reason) : new ConfigurationError(reason, resources);
    }
    const other = servers && id !== undefined ? this.#otherVoter(servers, id, startedAtMs) : undefined;
    if (other === undefined) return undefined;
    const { node, leftAtMs } = other;
    if (leftAtMs !== undefined) return new Error(`it is the server that ${node} has just left (${id})`);
    const rule = "a server may vote only once, whatever its address and database";
    return new ConfigurationError(`it is the same server as ${node} (${id}): ${rule}`, resources);
  }

  /**
   * Returns the vote of another node on this server, or enters this one. A node that has left the server still
   * counts for attempts that began before, in which it may have voted.
   */
  #otherVoter(servers: ServerVotes, id: string, startedAtMs: number): ServerVote | undefined {
    const present = servers.get(id);
    if (present !== this.#vote) {
      const former = present?.node === this.#vote.node ? present.before : present;
      if (former !== undefined && (former.leftAtMs ?? Infinity) >= startedAtMs) return former;
      this.#enter(servers, id, former);
    }
    // A claim that began before the other node left may come after one that began later.
    const { before } = this.#vote;
    return before !== undefined && (before.leftAtMs ?? Infinity) >= startedAtMs ? before : undefined;
  }

  /** Enters this node as the voter on a server that another one may have left. */
  #enter(servers: ServerVotes, id: string, former: ServerVote | undefined): void {
    if (former !== undefined && (former.leftAtMs ?? 0) >= (this.#vote.before?.leftAtMs ?? 0)) {
      this.#vote.before = { node: former.node, leftAtMs: former.leftAtMs ?? 0 };
    }
    const nowMs = performance.now();
    for (const [other, { leftAtMs = Infinity }] of servers) {
      if (leftAtMs < nowMs - forgetAfterMs) servers.delete(other);
    }
    servers.set(id, this.#vote);
  }
}
