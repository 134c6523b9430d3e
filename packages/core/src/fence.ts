import type { Clock } from "./clock.ts";
import { type ClockReading, elapsedMs, readClocks } from "./lease.ts";
import type { ExtendRequest } from "./lock-node.ts";
import type { Settings } from "./options.ts";
import type { VoteRule } from "./quorum-call.ts";
import { type HighestFence, highestFence, isCertain, type Tally, type Vote, verdict } from "./votes.ts";

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
