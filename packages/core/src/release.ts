import { isCertain, type Tally } from "./answers.ts";
import type { Claim } from "./claim.ts";

/** What came of asking all nodes to release. */
export interface ReleaseResult {
  /** Whether a quorum answered. Whether they still held the claim does not matter: they do not now. */
  readonly confirmed: boolean;
  readonly answers: Tally["answers"];
}

/**
 * Asks all nodes once to free the claim; settles once a quorum has answered, or no longer can. The waiter is who goes on
 * waiting after it, if somebody does.
 */
export async function releaseOnce(
  claim: Claim,
  { quorum, timeoutMs, waiter }: { quorum: number; timeoutMs: number; waiter: string | undefined },
): Promise<ReleaseResult> {
  const isDecided = (tally: Tally): boolean => isCertain(tally, quorum);
  const { yes, answers } = await claim.release({ timeoutMs, isYes: () => true, isDecided }, waiter);
  return { confirmed: yes >= quorum, answers };
}
