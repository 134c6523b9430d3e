import type { Answer, Denied, Failed, Granted, Held, NotHeld } from "./answers.ts";
import { Claim, type Ensemble } from "./claim.ts";
import type { LockNode } from "./lock-node.ts";
import type { Settings } from "./options.ts";
import { freshOwner } from "./owner.ts";
import { elapsedMs, type Moment, momentOf, validityMs } from "./validity.ts";
import { Vote } from "./vote.ts";

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
  readonly answers: readonly Answer<Granted | Denied>[];
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
  const { clock, observer, nodes, fenceHint } = ensemble;
  const claim = new Claim(ensemble, resources, freshOwner(settings.label));
  const vote = new Vote(nodes.length, settings);
  const startedAt = momentOf(clock);
  await claim.acquire(settings.ttlMs, fenceHint.next(startedAt.wallMs), vote);
  if (vote.isWon) {
    if (vote.unconfirmed > 0) await raiseFences(ensemble, settings, claim, vote, startedAt);
    fenceHint.saw(vote.fence);
  }
  const tookMs = elapsedMs(startedAt, clock);
  const result = resultOf(vote, claim, startedAt, tookMs, settings);
  if (result.outcome !== "acquired") claim.withdraw(settings.nodeTimeoutMs);
  const { outcome } = result;
  observer.attemptSettled?.({ resources, owner: claim.owner, outcome, elapsedMs: tookMs });
  return result;
}

function resultOf(
  vote: Vote,
  claim: Claim,
  startedAt: Moment,
  tookMs: number,
  { ttlMs, driftFactor }: Settings,
): Attempt {
  const { answers, fence } = vote;
  if (!vote.isWon) return { outcome: vote.loss, answers, retryAfterMs: vote.retryAfterMs };
  const lost = (remark: string): Lost => ({ outcome: "unreachable", answers, remark });
  if (vote.unconfirmed > 0) return lost("the nodes did not agree on a fencing token in time");
  if (tookMs < validityMs(ttlMs, driftFactor)) return { outcome: "acquired", claim, fence, startedAt };
  return lost(`the quorum came too late, ${Math.round(tookMs)} ms after a ttl of ${ttlMs} ms began`);
}

/**
 * Finds the token where the nodes have granted different fences: those that granted a lower one are raised to the
 * highest, until a quorum of nodes has had exactly that one while it held this claim, if it comes to that. Why this
 * makes tokens unique and increasing without any assumption on time is shown in the design of the fencing protocol
 * (after Attiya, Bar-Noy and Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 1995).
 */
async function raiseFences(
  { nodes, clock }: Ensemble,
  { ttlMs, driftFactor, nodeTimeoutMs, signal }: Settings,
  claim: Claim,
  vote: Vote,
  startedAt: Moment,
): Promise<void> {
  /** The fence that each node was last heard to have under this claim; null where it denied the claim. */
  const fences = nodes.map((_, index) => {
    const answer = vote.answers[index];
    return answer?.kind === "granted" ? answer.fence : answer?.kind === "denied" ? null : undefined;
  });
  for (let proposals = 0; proposals < maxProposals; proposals++) {
    const { fence } = vote;
    const timeoutMs = Math.min(nodeTimeoutMs, validityMs(ttlMs, driftFactor) - elapsedMs(startedAt, clock));
    if (timeoutMs <= 0 || signal?.aborted) return;
    const asked = [...nodes.keys()].filter((index) => fences[index] !== fence && fences[index] !== null);
    let pending = asked.length;
    /** Enough confirmations, a token that overtakes this one, or too few nodes left to confirm it. */
    const count = (answer: Held | NotHeld | Failed, position: number): boolean => {
      pending -= 1;
      const index = asked[position] as number;
      if (answer.kind !== "failed") fences[index] = answer.kind === "held" ? answer.fence : null;
      if (answer.kind === "held") vote.countFence(answer.fence);
      return vote.fence > fence || vote.unconfirmed <= 0 || vote.unconfirmed > pending;
    };
    const askedNodes = asked.map((index) => nodes[index] as LockNode);
    await claim.extend(askedNodes, { ttlMs, fence, rejoin: false }, { timeoutMs, signal, answers: [], count });
    if (vote.fence === fence) return;
  }
}
