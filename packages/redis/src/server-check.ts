import { type AcquireRequest, ConfigurationError, type ServerVotes } from "@holdfast/core";

/** What a server says of itself. */
export interface ServerIdentity {
  /** Differs after each start; undefined where the user may not ask. */
  readonly runId: string | undefined;
  readonly isReplica: boolean;
}

/** Used where a request brings none: the node is then on its own. */
const noVotes: ServerVotes = new Map();

/**
 * Decides whether a node may vote: not on a replica, and not on a server on which another node of the same `Redlock` votes. The
 * nodes of a `Redlock` share the map `servers` of their requests, which says for each run of a server who votes there.
 */
export class ServerCheck {
  readonly #name: string;
  readonly #identify: (request: AcquireRequest) => Promise<ServerIdentity>;
  #identity: ServerIdentity | undefined;
  #wasMaster = false;
  #identifying: Promise<void> | undefined;

  /**
   * @param name the node
   * @param identify asks the server who it is; always settles, as the node votes for nobody until then
   */
  constructor(name: string, identify: (request: AcquireRequest) => Promise<ServerIdentity>) {
    this.#name = name;
    this.#identify = identify;
  }

  /**
   * Comes before a claim is sent. If it is not known who the server is, the question is sent ahead of the claim, so that both
   * take one round trip: {@link verify} then waits for the answer.
   *
   * @returns whether the reply to the claim needs {@link verify}
   * @throws {ConfigurationError} when it is known that the node may not vote; a plain `Error` where a master has become a
   *   replica, as that is one server that fails, and no reason to stop using the others
   */
  begin(request: AcquireRequest): boolean {
    const { servers } = request;
    const identity = this.#identity;
    if (identity === undefined) {
      this.#identifying ??= this.#ask(request);
      return true;
    }
    const vote = servers && identity.runId !== undefined ? servers.get(identity.runId) : undefined;
    const isVoter = vote !== undefined && vote.node === this.#name && vote.leftAtMs === undefined;
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

  /** Has the server asked again, as another one may have taken its place. An answer under way is about the old connection. */
  invalidate(): void {
    this.#identifying = undefined;
    this.#identity = undefined;
  }

  #ask(request: AcquireRequest): Promise<void> {
    const asking = this.#identify(request).then(
      (identity) => {
        if (this.#identifying !== asking) return;
        this.#identifying = undefined;
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
    let reason: string | undefined;
    if (isReplica) reason = "the server is a replica: only independent masters may vote";
    else if (runId !== undefined) {
      const voter = voterOn(runId, this.#name, request.servers ?? noVotes, startedAtMs);
      if (voter !== this.#name) {
        reason = `it is the same server as ${voter} (run_id ${runId}): each may vote once, whatever its address and database`;
      }
    }
    if (reason === undefined) {
      this.#wasMaster = true;
      return;
    }
    // The mistake may be corrected by the next claim, which is not to wait for the answer.
    this.#identifying ??= this.#ask(request);
    throw isReplica && this.#wasMaster ? new Error(reason) : new ConfigurationError(reason, request.resources);
  }
}

/** Longer than any attempt. */
const forgetAfterMs = 3_600_000;

/**
 * Returns the node that votes on this run of a server: this one, unless another one does. A node that is found on another server
 * has left the first one; it still counts there for attempts that began before, in which it may have voted.
 */
function voterOn(runId: string, node: string, servers: ServerVotes, startedAtMs: number): string {
  if (servers === noVotes) return node;
  const vote = servers.get(runId);
  const isLeft = vote?.leftAtMs !== undefined;
  if (vote !== undefined && vote.node === node && !isLeft) return node;
  if (vote !== undefined && vote.node !== node && !(isLeft && vote.leftAtMs < startedAtMs)) return vote.node;
  const nowMs = performance.now();
  for (const [other, { node: voter, leftAtMs }] of servers) {
    if (leftAtMs !== undefined && leftAtMs < nowMs - forgetAfterMs) servers.delete(other);
    else if (voter === node && leftAtMs === undefined) servers.set(other, { node, leftAtMs: nowMs });
  }
  servers.set(runId, { node });
  return node;
}
