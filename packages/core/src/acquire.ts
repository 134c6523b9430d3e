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
  readonly remark?: string | undefined;
}

/**
 * How often a token is proposed to the nodes once they have granted different ones. The first proposal is enough
 * unless a node raises its counter while it holds this claim, which only a resent or late message makes it do.
 */
const maxProposals = 3;

/** Makes one attempt. A lost one is undone on all nodes, also those that have not answered yet (S4). */
export async function attempt(ensemble: Ensemble, settings: Settings, resources: readonly string[]): Promise<Attempt> {
  const { clock, observer, nodes, fenceHint } = ensemble;
  const { ttlMs, driftFactor, nodeTimeoutMs, label } = settings;
  const owner = freshOwner(label);
  const claim = new Claim(ensemble, resources, owner);
  const vote = new Vote(nodes.length, settings);
  const startedAt = momentOf(clock);
  await claim.acquire(ttlMs, fenceHint.next(startedAt.wallMs), vote);

  let { outcome } = vote;
  let remark: string | undefined;
  if (outcome === "acquired") {
    if (vote.unconfirmed > 0) await raiseFences(ensemble, settings, claim, vote, startedAt);
    fenceHint.saw(vote.fence);
  }
  const tookMs = elapsedMs(startedAt, clock);
  if (outcome === "acquired") {
    if (vote.unconfirmed > 0) remark = "the nodes did not agree on a fencing token in time";
    else if (tookMs >= validityMs(ttlMs, driftFactor)) {
      remark = `the quorum came too late, ${Math.round(tookMs)} ms after a ttl of ${ttlMs} ms began`;
    }
    if (remark !== undefined) outcome = "unreachable";
  }
  if (outcome !== "acquired") claim.withdraw(nodeTimeoutMs);
  observer.attemptSettled?.({ resources, owner, outcome, elapsedMs: tookMs });
  const { answers, fence } = vote;
  if (outcome === "acquired") return { outcome, claim, fence, startedAt };
  return { outcome, answers, remark, retryAfterMs: (outcome === "held" && vote.retryAfterMs) || undefined };
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
  /** What each node was last heard to say of this claim. */
  const heard: Answer<Granted | Denied | Held | NotHeld>[] = nodes.map((_, index) => vote.answers[index]);
  for (let proposals = 0; proposals < maxProposals; proposals++) {
    const { fence } = vote;
    const timeoutMs = Math.min(nodeTimeoutMs, validityMs(ttlMs, driftFactor) - elapsedMs(startedAt, clock));
    if (timeoutMs <= 0 || signal?.aborted) return;
    const asked = [...nodes.keys()].filter((index) => isBehind(heard[index], fence));
    let pending = asked.length;
    /** Enough confirmations, a token that overtakes this one, or too few nodes left to confirm it. */
    const count = (answer: Held | NotHeld | Failed, position: number): boolean => {
      pending -= 1;
      if (answer.kind !== "failed") heard[asked[position] as number] = answer;
      if (answer.kind === "held") vote.countFence(answer.fence);
      return vote.fence > fence || vote.unconfirmed <= 0 || vote.unconfirmed > pending;
    };
    const askedNodes = asked.map((index) => nodes[index] as LockNode);
    await claim.extend(askedNodes, { ttlMs, fence, rejoin: false }, { timeoutMs, signal, answers: [], count });
    if (vote.fence === fence) return;
  }
}

/** Whether a node may yet be made to have this fence under this claim. */
function isBehind(answer: Answer<Granted | Denied | Held | NotHeld>, fence: number): boolean {
  if (answer === undefined || answer.kind === "failed") return true;
  return "fence" in answer && answer.fence !== fence;
}
