import type { Clock } from "./clock.ts";
import { type ClockReading, elapsedMs, readClocks } from "./lease.ts";
import type { ExtendRequest } from "./lock-node.ts";
import { verdict } from "./node-sets.ts";
import type { Settings } from "./options.ts";
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

/** The highest fence that nodes granted for a claim, and which nodes granted exactly that one: `yes` or `no` for each. */
export interface HighestFence {
  readonly fence: number;
  readonly verdicts: readonly number[];
}

/**
 * Returns the highest fence among the votes of all nodes. A node agrees if it reports that. For a claim on several resources,
 * whose counters may differ where other resources share them, it reports the highest of them, and must be known to have no
 * other one. The hint of the first request does not show that: a claim that joins leaves lower counters below it, and so does
 * a node that caps it; another client may have raised one of them to the hint before a repeated grant reports the highest.
 *
 * @param isSeveral whether the claim is on several resources
 */
export function highestFence(votes: Tally["votes"], isSeveral: boolean): HighestFence {
  let highest = 0;
  for (const vote of votes) highest = Math.max(highest, vote?.fence ?? 0);
  const verdicts: number[] = [];
  for (const vote of votes) {
    const isAgreed = vote?.fence === highest && (vote.isUniform === true || !isSeveral);
    verdicts.push(isAgreed ? verdict.yes : verdict.no);
  }
  return { fence: highest, verdicts };
}

/**
 * The maximum number of rounds that propose a token after nodes granted different ones. One round is enough unless a
 * counter rises while its node holds this claim: because of a resent or late message, because other sharers agree on
 * their tokens at the same time, or because another resource shares the counter. Where many busy resources share one,
 * a few rounds are not enough: with three, up to 12 % of attempts on such names failed.
 */
const maxProposals = 12;

/** The part of a claim that raises fence counters. */
export interface RaisableClaim {
  readonly resources: readonly string[];
  extend(terms: Pick<ExtendRequest, "ttlMs" | "fence" | "rejoin" | "timeoutMs">, rule: VoteRule): Promise<Tally>;
}

/**
 * Finds the token after nodes granted different fences: raises lower counters to the highest fence until a quorum of
 * nodes has confirmed exactly that fence while holding this claim, or time or proposals run out. The proof in `spec/`
 * shows that tokens are then unique and increasing without any assumption about time (after Attiya, Bar-Noy and Dolev,
 * "Sharing Memory Robustly in Message-Passing Systems", JACM 1995).
 *
 * @param votes the replies to the acquire requests
 * @param timeoutMs how long all proposals together may take
 * @returns the highest fence, and which nodes agreed on it, which may be fewer than a quorum
 */
export async function agreeOnFence(
  clock: Clock,
  claim: RaisableClaim,
  { ttlMs, quorum, signal }: Settings,
  votes: Tally["votes"],
  timeoutMs: number,
): Promise<HighestFence> {
  const isSeveral = claim.resources.length > 1;
  const beganAt: ClockReading = readClocks(clock);
  /** The last reply of each node about this claim. */
  const known = [...votes];
  let proposed = 0;
  for (let proposals = 0; ; proposals++) {
    const token = highestFence(known, isSeveral);
    const { fence } = token;
    const isAgreed = quorum.isReachedBy(token.verdicts, verdict.yes);
    if (isAgreed || fence === proposed || proposals === maxProposals) return token;
    const leftMs = timeoutMs - elapsedMs(beganAt, readClocks(clock));
    if (leftMs <= 0 || signal?.aborted) return token;
    proposed = fence;
    await claim.extend(
      { ttlMs, fence, rejoin: false, timeoutMs: leftMs },
      {
        quorum,
        signal,
        known: known.map((vote) => (isBehind(vote, fence, isSeveral) ? undefined : vote)),
        isYes: (vote, index) => {
          const isConfirmed = vote.fence === fence;
          known[index] = { ...vote, isUniform: isConfirmed }; // all counters are at least the proposal now
          return isConfirmed;
        },
        isDecided: (tally) => highestFence(known, isSeveral).fence > fence || isCertain(tally, quorum),
      },
    );
  }
}

/** Whether a node may still confirm this fence for the claim. */
function isBehind(vote: Vote | undefined, fence: number, isSeveral: boolean): boolean {
  if (vote === undefined || vote.kind === "failed") return true;
  return vote.fence !== undefined && (vote.fence !== fence || (isSeveral && !vote.isUniform));
}
