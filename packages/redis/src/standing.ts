import { type AcquireRequest, ConfigurationError } from "@holdfast/core";

/** What a server tells of itself. */
export interface Introduction {
  /** Another one after each start; undefined where its user may not ask. */
  readonly runId: string | undefined;
  readonly isReplica: boolean;
}

/** Whether a node may vote: not on a replica, and not on a server on which another node of its `Redlock` votes. */
export interface Standing {
  /**
   * Comes before a claim. Where it is not known who the server is, the question goes ahead of the claim, so that both take
   * one round trip: what this returns then is for {@link judge}.
   *
   * @throws {ConfigurationError} when it is known that the node may not vote; a plain `Error` where a master has become a
   *   replica, as that is one server that fails, and no reason to stop using the others
   */
  introduce(request: AcquireRequest): Promise<void> | undefined;
  /**
   * Resolves with the answer to a claim when both are there; rejects with what {@link introduce} would have thrown. What was
   * granted may stand: core releases it.
   */
  judge<Reply>(introduced: Promise<void>, request: AcquireRequest, reply: Promise<Reply>): Promise<Reply>;
  /** Has the server asked again, as another one may stand in its place. */
  doubt(): void;
}

/** Which node votes for which run of a server. */
type Votes = Map<string, string>;

/**
 * The votes for the request that was judged last: core gives all nodes of a `Redlock` the same request object, and no
 * others, one after the other.
 */
let latest: { readonly request: AcquireRequest; readonly votes: Votes } | undefined;

/** The votes for requests that some node is to be judged by later, when it is known who its server is. */
const unfinished = new WeakMap<AcquireRequest, Votes>();

function votesFor(request: AcquireRequest): Votes {
  if (latest?.request !== request) latest = { request, votes: unfinished.get(request) ?? new Map() };
  return latest.votes;
}

/**
 * Makes the standing of one node, of which nothing is known yet.
 *
 * @param introduce asks the server who it is; always settles, as the node goes unjudged until then
 */
export function createStanding(name: string, introduce: (request: AcquireRequest) => Promise<Introduction>): Standing {
  let known: Introduction | undefined;
  let wasMaster = false;
  let asking: Promise<void> | undefined;

  const doubt = (): void => {
    // An answer that is still under way is about the connection that was lost.
    asking = undefined;
    known = undefined;
  };
  const ask = (request: AcquireRequest): Promise<void> => {
    const answer = introduce(request).then(
      (introduction) => {
        if (asking !== answer) return;
        asking = undefined;
        known = introduction;
      },
      () => {
        // What was known, a refusal above all, does not hold for a server that cannot be asked any more.
        if (asking === answer) doubt();
      },
    );
    return answer;
  };
  const insist = (request: AcquireRequest): void => {
    if (known === undefined) return;
    const reason = known.isReplica
      ? "the server is a replica: only independent masters may vote"
      : known.runId && rivalry(known.runId, name, request);
    if (reason) {
      // It may have been put right by the next claim, which is not to wait for the answer.
      asking ??= ask(request);
      throw known.isReplica && wasMaster ? new Error(reason) : new ConfigurationError(reason, request.resources);
    }
    wasMaster = true;
  };
  return {
    introduce(request) {
      insist(request);
      if (known !== undefined) return undefined;
      unfinished.set(request, votesFor(request));
      asking ??= ask(request);
      return asking;
    },
    async judge(introduced, request, reply) {
      try {
        return await reply;
      } finally {
        // Also where the claim failed, as on a replica: this is then the better reason.
        await introduced;
        insist(request);
      }
    },
    doubt,
  };
}

/** What is wrong about this node voting for this run: nothing, unless another node does already. */
function rivalry(runId: string, node: string, request: AcquireRequest): string | undefined {
  const votes = votesFor(request);
  const voter = votes.get(runId);
  if (voter === undefined) votes.set(runId, node);
  if (voter === undefined || voter === node) return undefined;
  return `it is the same server as ${voter} (run_id ${runId}): each may vote once, whatever its address and database`;
}
