import { type AcquireRequest, ConfigurationError, type ServerVote, type ServerVotes } from "@holdfast/core";

/** What a server says of itself. */
export interface ServerIdentity {
  /** Differs after each start; undefined where the user may not ask. */
  readonly runId: string | undefined;
  readonly isReplica: boolean;
}

/** How long it is remembered that a node has left a server: longer than any attempt takes. */
const forgetAfterMs = 3_600_000;

/**
 * Decides whether a node may vote: not on a replica, and not on a server on which another node of the same `Redlock` votes. The
 * nodes of a `Redlock` share the map `servers` of their requests, which says for each run of a server who votes there.
 */
export class ServerCheck {
  readonly #name: string;
  readonly #identify: (request: AcquireRequest) => Promise<ServerIdentity>;
  #identity: ServerIdentity | undefined;
  /** What the node enters for the present server, in the maps of all `Redlock`s that use it. */
  #vote: ServerVote;
  #wasMaster = false;
  #identifying: Promise<void> | undefined;

  /**
   * @param name the node
   * @param identify asks the server who it is; always settles, as the node votes for nobody until then
   */
  constructor(name: string, identify: (request: AcquireRequest) => Promise<ServerIdentity>) {
    this.#name = name;
    this.#vote = { node: name };
    this.#identify = identify;
  }

  /**
   * Comes before a claim is sent. If it is not known who the server is, the question is sent ahead of the claim, so that both
   * take one round trip: {@link verify} then waits for the answer.
   *
   * @returns whether the reply to the claim needs {@link verify}
   * @throws {ConfigurationError} when it is known that the node may not vote; a plain `Error` where that may pass, as when a master
   *   has become a replica: one server then fails, and that is no reason to stop using the others
   */
  begin(request: AcquireRequest): boolean {
    const identity = this.#identity;
    if (identity === undefined) {
      this.#identifying ??= this.#ask(request);
      return true;
    }
    const { servers } = request;
    const isVoter = servers !== undefined && servers.get(identity.runId as string) === this.#vote;
    if (!isVoter || identity.isReplica) this.#assertMayVote(request, performance.now());
    return false;
  }

  /**
   * Settles like the reply to a claim, as soon as it is known, too, who the server is; rejects if the node may not vote. The
   * grant may stand: core releases it.
   */
  async verify<Reply>(request: AcquireRequest, reply: Promise<Reply>): Promise<Reply> {
    const startedAtMs = performance.now();
    const identifying = this.#identifying;
    try {
      return await reply;
    } finally {
      // Also where the claim failed, as on a replica: this is then the better reason.
      await identifying;
      this.#assertMayVote(request, startedAtMs);
    }
  }

  /**
   * Has the server asked again, as another one may have taken its place. An answer under way is about the old connection. Until
   * the answer comes, the node votes nowhere: another one that is found on the old server may vote there.
   */
  invalidate(): void {
    this.#identifying = undefined;
    this.#identity = undefined;
    this.#leave();
  }

  #leave(): void {
    this.#vote.leftAtMs = performance.now();
    this.#vote = { node: this.#name };
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
        // What was known, a refusal above all, does not hold for a server that cannot be asked any more.
        if (this.#identifying === asking) this.invalidate();
      },
    );
    return asking;
  }

  #assertMayVote(request: AcquireRequest, startedAtMs: number): void {
    if (this.#identity === undefined) return;
    const { runId, isReplica } = this.#identity;
    const { servers, resources } = request;
    let reason: string | undefined;
    let isPassing = false;
    if (isReplica) {
      reason = "the server is a replica: only independent masters may vote";
      isPassing = this.#wasMaster;
    } else {
      const other = servers && runId !== undefined ? otherVoter(servers, runId, this.#vote, startedAtMs) : undefined;
      if (other?.leftAtMs !== undefined) {
        reason = `it is the server that ${other.node} has just left (run_id ${runId})`;
        isPassing = true;
      } else if (other !== undefined) {
        reason = `it is the same server as ${other.node} (run_id ${runId}): each may vote once, whatever its address and database`;
      }
    }
    if (reason === undefined) {
      this.#wasMaster = true;
      return;
    }
    // The mistake may be corrected by the next claim, which is not to wait for the answer.
    this.#identifying ??= this.#ask(request);
    throw isPassing ? new Error(reason) : new ConfigurationError(reason, resources);
  }
}

/**
 * Returns the vote of another node on this run of a server, or enters this one. A node that has left the server still counts
 * for attempts that began before, in which it may have voted.
 */
function otherVoter(
  servers: ServerVotes,
  runId: string,
  vote: ServerVote,
  startedAtMs: number,
): ServerVote | undefined {
  const present = servers.get(runId);
  if (present === vote) return undefined;
  if (present !== undefined && present.node !== vote.node && (present.leftAtMs ?? Infinity) >= startedAtMs)
    return present;
  const nowMs = performance.now();
  for (const [other, { leftAtMs }] of servers) {
    if (leftAtMs !== undefined && leftAtMs < nowMs - forgetAfterMs) servers.delete(other);
  }
  servers.set(runId, vote);
  return undefined;
}
