import type { Clock } from "./clock.ts";
import { elapsedMs, type Moment, readClocks } from "./lease.ts";
import { type NodeSets, reaches } from "./node-sets.ts";
import { isCertain, type Tally, type VoteRule } from "./quorum-call.ts";
import type { Vote } from "./replies.ts";

/**
 * Proposes fencing tokens: the wall clock in microseconds, or one more than the highest token seen so far. If the
 * proposal is ahead of every node's counter, all nodes grant exactly that token, and one round trip is enough. Safety
 * does not depend on the proposal: a node's counter only ever goes up.
 */
export class FenceHint {
  #highest = 0;

  /**
   * Returns the token to propose next.
   *
   * @param wallMs the current wall-clock time
   */
  next(wallMs: number): number {
    return Math.min(Number.MAX_SAFE_INTEGER, Math.max(Math.floor(wallMs * 1000), this.#highest + 1));
  }

  /** Records a token, so that later proposals exceed it. */
  saw(fence: number): void {
    this.#highest = Math.max(this.#highest, fence);
  }
}

/** The highest fence that nodes granted for a claim, and the count of the nodes that granted exactly that one. */
export interface HighestFence {
  readonly fence: number;
  readonly agreed: number;
}

/**
 * The number that each node was last asked for: the hint, or a proposal. For a claim on several resources, whose counters
 * may differ where other resources share them: a node reports the highest of them, and all are equal only if that is what
 * it was asked for. Undefined for a single resource.
 */
export type Asked = number[] | undefined;

/** Returns the highest fence among the votes of all nodes. A node agrees if it reports that, and was asked for it. */
export function highestFence(votes: Tally["votes"], sets: NodeSets, asked: Asked): HighestFence {
  let highest = 0;
  let agreed = 0;
  for (const [index, node] of sets.nodes.entries()) {
    const fence = votes[index]?.fence ?? 0;
    if (fence > highest) agreed = 0;
    if (fence >= highest && (asked?.[index] ?? fence) === fence) agreed += sets.weightOf(node);
    highest = Math.max(highest, fence);
  }
  return { fence: highest, agreed };
}

/**
 * The maximum number of rounds that propose a token after nodes granted different ones. One round is enough unless a
 * counter rises while its node holds this claim: because of a resent or late message, because other sharers agree on
 * their tokens at the same time, or because another resource shares the counter. Where many busy resources share one,
 * a few rounds are not enough: with three, up to 12 % of attempts on such names failed.
 */
const maxProposals = 12;

/** The parameters of {@link agreeOnFence}. */
export interface FenceAgreement {
  readonly sets: NodeSets;
  /** What the acquire requests asked for, updated with each proposal. */
  readonly asked: Asked;
  readonly clock: Clock;
  readonly quorum: number;
  readonly signal: AbortSignal | undefined;
  /** How long all proposals together may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Asks the nodes with these indices to raise the fence counters of the claim. */
  raise(indices: readonly number[], fence: number, rule: VoteRule): Promise<Tally>;
}

/**
 * Finds the token after nodes granted different fences: raises lower counters to the highest fence until a quorum of
 * nodes has confirmed exactly that fence while holding this claim, or time or proposals run out. The proof in `spec/`
 * shows that tokens are then unique and increasing without any assumption about time (after Attiya, Bar-Noy and Dolev,
 * "Sharing Memory Robustly in Message-Passing Systems", JACM 1995).
 *
 * @param votes the replies to the acquire requests
 * @param agreement the quorum and the time limit
 * @returns the highest fence, and how many nodes agreed on it, which may be fewer than a quorum
 */
export async function agreeOnFence(votes: Tally["votes"], agreement: FenceAgreement): Promise<HighestFence> {
  const { sets, asked, clock, quorum, signal, timeoutMs, raise } = agreement;
  const beganAt: Moment = readClocks(clock);
  /** The last reply of each node about this claim. */
  const known = [...votes];
  let proposed = 0;
  for (let proposals = 0; ; proposals++) {
    const token = highestFence(known, sets, asked);
    const { fence, agreed } = token;
    if (reaches(agreed, quorum) || fence === proposed || proposals === maxProposals) return token;
    const leftMs = timeoutMs - elapsedMs(beganAt, readClocks(clock));
    if (leftMs <= 0 || signal?.aborted) return token;
    proposed = fence;
    const behind = [...known.keys()].filter((index) => isBehind(known[index], fence, asked?.[index]));
    await raise(behind, fence, {
      timeoutMs: leftMs,
      signal,
      isYes: (vote, position) => {
        const index = behind[position] as number;
        known[index] = vote;
        if (asked) asked[index] = fence;
        return vote.fence === fence;
      },
      isDecided: ({ yes, missing }) =>
        highestFence(known, sets, asked).fence > fence || isCertain({ yes: agreed + yes, missing }, quorum),
    });
  }
}

/** Whether a node may still confirm this fence for the claim. */
function isBehind(vote: Vote | undefined, fence: number, asked: number = fence): boolean {
  if (vote === undefined || vote.kind === "failed") return true;
  return vote.fence !== undefined && (vote.fence !== fence || asked !== fence);
}
