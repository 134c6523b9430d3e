import { count, isFailure, isMisconfigured, isMissing, isReply } from "./answers.ts";
import type { Answer } from "./broadcast.ts";
import { Claim, type Ensemble } from "./claim.ts";
import type { AcquireReply, ExtendReply } from "./lock-node.ts";
import type { Settings } from "./options.ts";
import { freshOwner } from "./owner.ts";
import { driftMs, elapsedMs, type Moment, momentOf } from "./validity.ts";

/** How one attempt ended. */
export type Attempt = Won | Lost;

/** A quorum granted, agreed on the token, and left some validity. */
export interface Won {
  readonly outcome: "acquired";
  readonly claim: Claim;
  readonly fence: number;
  /** The moment just before the first request was sent: what validity is measured from (S2). */
  readonly startedAt: Moment;
}

/**
 * Another owner was in the way; or too few nodes answered, they did not agree, or it took too long; or a node said that
 * trying again is of no use.
 */
export interface Lost {
  readonly outcome: "held" | "unreachable" | "misconfigured";
  readonly answers: readonly Answer<AcquireReply>[];
  /** When the claims in the way end, in milliseconds, where the nodes know it. */
  readonly retryAfterMs?: number | undefined;
  /** What stood in the way, where the answers do not show it. */
  readonly remark?: string;
}

/**
 * How often a token is proposed to the nodes once they have granted different ones. The first proposal is enough
 * unless a node raises its counter while it holds this claim, which only a resent or late message makes it do.
 */
const maxProposals = 3;

/** Makes one attempt. A lost one is undone on all nodes, also those that have not answered yet (S4). */
export async function attempt(ensemble: Ensemble, settings: Settings, resources: readonly string[]): Promise<Attempt> {
  const { clock, observer } = ensemble;
  const claim = new Claim(ensemble, resources, freshOwner(settings.label));
  const startedAt = momentOf(clock);
  const result = await vote(ensemble, settings, claim, startedAt);
  if (result.outcome !== "acquired") claim.withdraw(settings.nodeTimeoutMs);
  const { outcome } = result;
  observer.attemptSettled({ resources, owner: claim.owner, outcome, elapsedMs: elapsedMs(startedAt, clock) });
  return result;
}

async function vote(ensemble: Ensemble, settings: Settings, claim: Claim, startedAt: Moment): Promise<Attempt> {
  const { clock, fenceHint } = ensemble;
  const { ttlMs, driftFactor, nodeTimeoutMs, quorum, signal } = settings;
  const remainingMs = (): number => ttlMs - driftMs(ttlMs, driftFactor) - elapsedMs(startedAt, clock);

  const answers = await claim.acquire(ttlMs, fenceHint.next(), {
    timeoutMs: nodeTimeoutMs,
    signal,
    isDecided: (sofar) => isVoteDecided(sofar, quorum),
  });
  if (count(answers, isGrant) < quorum) return lostVote(answers, quorum);

  const fence = await agreeOnFence(ensemble, settings, claim, answers, remainingMs);
  if (fence === undefined) {
    return { outcome: "unreachable", answers, remark: "the nodes did not agree on a fencing token in time" };
  }
  if (remainingMs() <= 0) {
    const late = `${Math.round(elapsedMs(startedAt, clock))} ms after a ttl of ${ttlMs} ms began`;
    return { outcome: "unreachable", answers, remark: `the quorum came too late, ${late}` };
  }
  return { outcome: "acquired", claim, fence, startedAt };
}

/**
 * A quorum of grants wins; so many other answers that no quorum is left lose, and so does one that says that it can never
 * work. A tie of an even number loses, too.
 */
function isVoteDecided(answers: readonly Answer<AcquireReply>[], quorum: number): boolean {
  const granted = count(answers, isGrant);
  return granted >= quorum || granted + count(answers, isMissing) < quorum || answers.some(isMisconfigured);
}

/** If a quorum of nodes did answer, or still might have, it is the other owner that stood in the way. */
function lostVote(answers: readonly Answer<AcquireReply>[], quorum: number): Lost {
  if (answers.some(isMisconfigured)) return { outcome: "misconfigured", answers };
  const denied = count(answers, isDenial);
  const failed = count(answers, isFailure);
  if (denied === 0 || answers.length - failed < quorum) return { outcome: "unreachable", answers };
  const retryAfterMs = Math.max(...answers.map((answer) => (isDenial(answer) && answer.retryAfterMs) || 0));
  return { outcome: "held", answers, retryAfterMs: retryAfterMs || undefined };
}

/**
 * Finds the token: the highest fence granted, once a quorum of nodes has had exactly that one while it held this
 * claim. Nodes that granted a lower one are raised to it. Returns undefined when there is no such quorum. Why this
 * makes tokens unique and increasing without any assumption on time is shown in the design of the fencing protocol
 * (after Attiya, Bar-Noy and Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 1995).
 */
async function agreeOnFence(
  { nodes, fenceHint }: Ensemble,
  { ttlMs, nodeTimeoutMs, quorum, signal }: Settings,
  claim: Claim,
  answers: readonly Answer<AcquireReply>[],
  remainingMs: () => number,
): Promise<number | undefined> {
  /** The fence that each node was last heard to have under this claim; null where it denied the claim. */
  const fences = answers.map((answer) => (isGrant(answer) ? answer.fence : isDenial(answer) ? null : undefined));
  let proposed: number | undefined;
  for (let proposals = 0; ; proposals++) {
    const fence = Math.max(...fences.map((known) => known ?? 0));
    const agreed = count(fences, (known) => known === fence);
    fenceHint.saw(fence);
    if (agreed >= quorum) return fence;

    const timeoutMs = Math.min(nodeTimeoutMs, remainingMs());
    if (fence === proposed || proposals === maxProposals || timeoutMs <= 0 || signal?.aborted) return undefined;
    proposed = fence;
    const asked = [...nodes.keys()].filter((index) => fences[index] !== fence && fences[index] !== null);
    const replies = await claim.extend(
      asked.map((index) => nodes[index] as (typeof nodes)[number]),
      { ttlMs, fence, rejoin: false },
      { timeoutMs, signal, isDecided: (sofar) => isProposalDecided(sofar, fence, quorum - agreed) },
    );
    for (const [position, index] of asked.entries()) {
      const reply = replies[position];
      if (isReply(reply)) fences[index] = reply.held ? reply.fence : null;
    }
  }
}

/** Enough confirmations, a token that overtakes this one, or too few nodes left to confirm it. */
function isProposalDecided(replies: readonly Answer<ExtendReply>[], fence: number, needed: number): boolean {
  const confirmed = count(replies, (reply) => isReply(reply) && reply.held && reply.fence === fence);
  const overtaken = replies.some((reply) => isReply(reply) && reply.held && reply.fence > fence);
  return overtaken || confirmed >= needed || confirmed + count(replies, isMissing) < needed;
}

function isGrant(answer: Answer<AcquireReply>): answer is AcquireReply & { granted: true } {
  return isReply(answer) && answer.granted;
}

function isDenial(answer: Answer<AcquireReply>): answer is AcquireReply & { granted: false } {
  return isReply(answer) && !answer.granted;
}
