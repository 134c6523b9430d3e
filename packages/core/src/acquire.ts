import { type Answer, isCertain, type Tally } from "./answers.ts";
import type { Ballot } from "./broadcast.ts";
import { Claim, undo } from "./claim.ts";
import type { LockNode } from "./lock-node.ts";
import { freshOwner } from "./owner.ts";
import { elapsedMs, type Moment, momentOf, validityMs } from "./validity.ts";
import type { Place } from "./waiting/place.ts";

/** How one attempt ended. */
export type Attempt = Won | Lost;

/** A quorum granted, agreed on the token, and left some validity. */
export interface Won {
  readonly outcome: "acquired";
  readonly claim: Claim;
  readonly fence: number;
  /** The moment just before the first request was sent: what validity is measured from (S2). */
  readonly startedAt: Moment;
  /** The moment at which it was found to be a lock. */
  readonly settledAt: Moment;
}

/**
 * Another owner was in the way; or too few nodes answered, they did not agree, or it took too long; or a node said that
 * trying again is of no use.
 */
export interface Lost {
  readonly outcome: "held" | "unreachable" | "misconfigured";
  readonly answers: Tally["answers"];
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

/**
 * Makes one attempt. A lost one is undone on all nodes, also those that have not answered yet (S4).
 *
 * @param startedAt now: nothing may come between this moment and the call (S2)
 */
export async function attempt(place: Place, startedAt: Moment): Promise<Attempt> {
  const { resources, ensemble, settings } = place;
  const { clock, observer, fenceHint } = ensemble;
  const { ttlMs, driftFactor, nodeTimeoutMs: timeoutMs, quorum, signal, label } = settings;
  const owner = freshOwner(label);
  const claim = new Claim(ensemble, resources, owner, timeoutMs);
  const ballot: Ballot = {
    timeoutMs,
    signal,
    isYes: isGrant,
    isDecided: (sofar) => isCertain(sofar, quorum) || sofar.misconfigured > 0,
  };
  const { predecessor } = place;
  const tally = await claim.acquire(ttlMs, fenceHint.next(startedAt.wallMs), ballot, place);

  const { answers } = tally;
  let outcome = outcomeOf(tally, quorum);
  let token = highestFence(answers);
  if (outcome === "acquired" && token.agreed < quorum) {
    token = await raiseFences(place, claim, answers, startedAt);
  }
  place.queue.endQuestion();
  const settledAt = momentOf(clock);
  const tookMs = elapsedMs(startedAt, settledAt);
  let remark: string | undefined;
  if (outcome === "acquired") {
    fenceHint.saw(token.fence);
    if (token.agreed < quorum) remark = "the nodes did not agree on a fencing token in time";
    else if (tookMs >= validityMs(ttlMs, driftFactor)) {
      remark = `the quorum came too late, ${Math.round(tookMs)} ms after a ttl of ${ttlMs} ms began`;
    }
    if (remark !== undefined) outcome = "unreachable";
  }
  // Where it took over, it ends a lock: others must hear of that.
  if (outcome !== "acquired") claim.withdraw(predecessor ? undefined : undo);
  observer.attemptSettled?.({ resources, owner, outcome, elapsedMs: tookMs });
  if (outcome === "acquired") return { outcome, claim, fence: token.fence, startedAt, settledAt };
  const waitsMs = answers.map((answer) => answer?.retryAfterMs ?? 0);
  return { outcome, answers, remark, retryAfterMs: (outcome === "held" && Math.max(...waitsMs)) || undefined };
}

function isGrant({ kind }: Answer): boolean {
  return kind === "granted";
}

/** If a quorum of nodes did answer, or still might have, it is another owner that stood in the way. */
function outcomeOf({ yes, no, missing, misconfigured }: Tally, quorum: number): Attempt["outcome"] {
  if (yes >= quorum) return "acquired";
  if (misconfigured > 0) return "misconfigured";
  return no > 0 && yes + no + missing >= quorum ? "held" : "unreachable";
}

/** The highest fence that nodes hold a claim with, and how many of them hold it with just that one. */
function highestFence(answers: Tally["answers"]): { readonly fence: number; readonly agreed: number } {
  let highest = 0;
  let agreed = 0;
  for (const answer of answers) {
    const fence = answer?.fence ?? 0;
    if (fence > highest) agreed = 0;
    if (fence >= highest) agreed += 1;
    highest = Math.max(highest, fence);
  }
  return { fence: highest, agreed };
}

/**
 * Finds the token where the nodes have granted different fences: those that granted a lower one are raised to the
 * highest, until a quorum of nodes has had exactly that one while it held this claim, if it comes to that. Why this
 * makes tokens unique and increasing without any assumption on time is shown in the design of the fencing protocol
 * (after Attiya, Bar-Noy and Dolev, "Sharing Memory Robustly in Message-Passing Systems", JACM 1995).
 */
async function raiseFences(
  { ensemble: { nodes, clock }, settings }: Place,
  claim: Claim,
  answers: Tally["answers"],
  startedAt: Moment,
): Promise<ReturnType<typeof highestFence>> {
  const { ttlMs, driftFactor, nodeTimeoutMs, quorum, signal } = settings;
  /** What each node was last heard to say of this claim. */
  const heard = [...answers];
  let proposed = 0;
  for (let proposals = 0; ; proposals++) {
    const token = highestFence(heard);
    const { fence, agreed } = token;
    if (agreed >= quorum || fence === proposed || proposals === maxProposals) return token;
    const timeoutMs = Math.min(nodeTimeoutMs, validityMs(ttlMs, driftFactor) - elapsedMs(startedAt, momentOf(clock)));
    if (timeoutMs <= 0 || signal?.aborted) return token;
    proposed = fence;
    const asked = [...nodes.keys()].filter((index) => isBehind(heard[index], fence));
    await claim.extend(
      asked.map((index) => nodes[index] as LockNode),
      { ttlMs, fence, rejoin: false },
      {
        timeoutMs,
        signal,
        isYes: (answer, position) => {
          heard[asked[position] as number] = answer;
          return answer.fence === fence;
        },
        isDecided: ({ yes, missing }) =>
          highestFence(heard).fence > fence || agreed + yes >= quorum || agreed + yes + missing < quorum,
      },
    );
  }
}

/** Whether a node may yet be made to have this fence under this claim. */
function isBehind(answer: Answer | undefined, fence: number): boolean {
  return answer === undefined || answer.kind === "failed" || (answer.fence ?? fence) !== fence;
}
