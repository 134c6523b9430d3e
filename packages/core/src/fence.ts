import type { Clock } from "./clock.ts";
import { elapsedMs, type Moment, readClocks } from "./lease.ts";
import type { Tally, VoteRule } from "./quorum-call.ts";
import type { Vote } from "./replies.ts";

/**
 * Proposes fencing tokens: the wall clock in microseconds, or one more than the highest token that was seen. When the
 * proposal is ahead of the counters of all nodes, they all grant exactly that, however far they had drifted apart, and
 * one round trip is enough. Nothing rests on it: counters only ever go up from what a node has.
 */
export class FenceHint {
  #highest = 0;

  /**
   * The token to propose next.
   *
   * @param wallMs what the wall clock shows
   */
  next(wallMs: number): number {
    return Math.min(Number.MAX_SAFE_INTEGER, Math.max(Math.floor(wallMs * 1000), this.#highest + 1));
  }

  /** Keeps later proposals above this token. */
  saw(fence: number): void {
    this.#highest = Math.max(this.#highest, fence);
  }
}

/** The highest fence under which nodes hold a claim, and how many of them hold it under exactly that one. */
export interface HighestFence {
  readonly fence: number;
  readonly agreed: number;
}

/** The highest fence among the votes. */
export function highestFence(votes: Tally["votes"]): HighestFence {
  let highest = 0;
  let agreed = 0;
  for (const vote of votes) {
    const fence = vote?.fence ?? 0;
    if (fence > highest) agreed = 0;
    if (fence >= highest) agreed += 1;
    highest = Math.max(highest, fence);
  }
  return { fence: highest, agreed };
}

/**
 * How often a token is proposed to the nodes once they have granted different ones. The first proposal is enough
 * unless a node raises its counter while it holds this claim, which only a resent or late message makes it do.
 */
const maxProposals = 3;

/** What agreeing on a token needs. */
export interface FenceAgreement {
  readonly clock: Clock;
  readonly quorum: number;
  readonly signal: AbortSignal | undefined;
  /** How long all proposals together may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Asks these nodes, by their index, to raise the fence counters of the claim. */
  raise(indices: readonly number[], fence: number, rule: VoteRule): Promise<Tally>;
}

/**
 * Finds the token where the nodes have granted different fences: raises those that granted a lower one to the highest,
 * until a quorum of nodes has had exactly that one while it held this claim, if it comes to that. The proof in `spec/`
 * shows why this makes tokens unique and increasing without any assumption on time (after Attiya, Bar-Noy and Dolev,
 * "Sharing Memory Robustly in Message-Passing Systems", JACM 1995).
 *
 * @param votes what the nodes granted
 * @param agreement the quorum and the time limit
 */
export async function agreeOnFence(votes: Tally["votes"], agreement: FenceAgreement): Promise<HighestFence> {
  const { clock, quorum, signal, timeoutMs, raise } = agreement;
  const beganAt: Moment = readClocks(clock);
  /** What each node was last known to say of this claim. */
  const known = [...votes];
  let proposed = 0;
  for (let proposals = 0; ; proposals++) {
    const token = highestFence(known);
    const { fence, agreed } = token;
    if (agreed >= quorum || fence === proposed || proposals === maxProposals) return token;
    const leftMs = timeoutMs - elapsedMs(beganAt, readClocks(clock));
    if (leftMs <= 0 || signal?.aborted) return token;
    proposed = fence;
    const behind = [...known.keys()].filter((index) => isBehind(known[index], fence));
    await raise(behind, fence, {
      timeoutMs: leftMs,
      signal,
      isYes: (vote, position) => {
        known[behind[position] as number] = vote;
        return vote.fence === fence;
      },
      isDecided: ({ yes, missing }) =>
        highestFence(known).fence > fence || agreed + yes >= quorum || agreed + yes + missing < quorum,
    });
  }
}

/** Whether a node may yet be made to have this fence under this claim. */
function isBehind(vote: Vote | undefined, fence: number): boolean {
  return vote === undefined || vote.kind === "failed" || (vote.fence ?? fence) !== fence;
}
