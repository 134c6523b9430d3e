import type { Answer } from "./broadcast.ts";
import type { Claim } from "./claim.ts";
import type { ReleaseReply } from "./lock-node.ts";
import { isOutOfReach } from "./quorum.ts";

/** What came of asking all nodes to release. */
export interface ReleaseResult {
  /** Whether a quorum answered. Whether they still held the claim does not matter: they do not now. */
  readonly confirmed: boolean;
  readonly answers: readonly Answer<ReleaseReply>[];
}

/** Asks all nodes once to free the claim; settles once a quorum has answered, or no longer can. */
export async function releaseOnce(
  claim: Claim,
  { quorum, timeoutMs }: { readonly quorum: number; readonly timeoutMs: number },
): Promise<ReleaseResult> {
  const answers = await claim.release({
    timeoutMs,
    isDecided: (sofar) => isConfirmed(sofar, quorum) || isOutOfReach(failures(sofar), sofar.length, quorum),
  });
  return { confirmed: isConfirmed(answers, quorum), answers };
}

function isConfirmed(answers: readonly Answer<ReleaseReply>[], quorum: number): boolean {
  return answers.filter((answer) => answer !== undefined && !(answer instanceof Error)).length >= quorum;
}

function failures(answers: readonly Answer<ReleaseReply>[]): number {
  return answers.filter((answer) => answer instanceof Error).length;
}
