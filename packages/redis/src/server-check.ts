import { ConfigurationError } from "@holdfast/core";
import type { AcquireRequest, ServerVote, ServerVotes } from "@holdfast/core/node";

/** The identity of a server. */
export interface ServerIdentity {
  /** Identifies one run of the server and changes with each start; undefined if the user may not ask. */
  readonly runId: string | undefined;
  readonly isReplica: boolean;
}

/** How long to remember that a node has left a server: longer than any attempt takes. */
const forgetAfterMs = 3_600_000;

/**
 * Decides whether a node may vote: not on a replica, and not on a server on which another node of the same `Redlock`
 * votes. The nodes of a `Redlock` share the map `servers` of their requests, which names the voting node for each run
 * of a server.
 */
export class ServerCheck {
  readonly #identify: (request: AcquireRequest) => Promise<ServerIdentity>;
  #identity: ServerIdentity | undefined;
  /** The entry of this node for the present server, in the maps of all `Redlock`s that use it. */
  #vote: ServerVote;
  #wasMaster = false;
  #identifying: Promise<void> | undefined;

  /**
   * @param name the name of the node
   * @param identify asks the server for its identity; must always settle, because the node votes for nobody until then
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
    if (identity === undefined) {
      this.#identifying ??= this.#ask(request);
      return true;
    }
    const isVoter = request.servers?.get(identity.runId as string) === this.#vote;
    if (!isVoter || identity.isReplica) this.#assertMayVote(request, performance.now());
    return false;
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
        if (this.#identity !== undefined && this.#identity.runId !== identity.runId) this.#leave();
        this.#identity = identity;
      },
      () => {
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
    // The mistake may be corrected by the next claim, which then need not wait for the answer.
    this.#identifying ??= this.#ask(request);
    throw refusal;
  }

  /** Returns why the node may not vote. Another reason than a `ConfigurationError` may pass. */
  #refusalOf(request: AcquireRequest, identity: ServerIdentity, startedAtMs: number): Error | undefined {
    const { runId, isReplica } = identity;
    const { servers, resources } = request;
    if (isReplica) {
      const reason = "the server is a replica: only independent masters may vote";
      return this.#wasMaster ? new Error(reason) : new ConfigurationError(reason, resources);
    }
    const other = servers && runId !== undefined ? this.#otherVoter(servers, runId, startedAtMs) : undefined;
    if (other === undefined) return undefined;
    const { node, leftAtMs } = other;
    if (leftAtMs !== undefined) return new Error(`it is the server that ${node} has just left (run_id ${runId})`);
    const rule = "a server may vote only once, whatever its address and database";
    return new ConfigurationError(`it is the same server as ${node} (run_id ${runId}): ${rule}`, resources);
  }

  /**
   * Returns the vote of another node on this run of a server, or enters this one. A node that has left the server still
   * counts for attempts that began before, in which it may have voted.
   */
  #otherVoter(servers: ServerVotes, runId: string, startedAtMs: number): ServerVote | undefined {
    const present = servers.get(runId);
    if (present === this.#vote) return undefined;
    const isOther = present !== undefined && present.node !== this.#vote.node;
    if (isOther && (present.leftAtMs ?? Infinity) >= startedAtMs) return present;
    const nowMs = performance.now();
    for (const [other, { leftAtMs = Infinity }] of servers) {
      if (leftAtMs < nowMs - forgetAfterMs) servers.delete(other);
    }
    servers.set(runId, this.#vote);
    return undefined;
  }
}
