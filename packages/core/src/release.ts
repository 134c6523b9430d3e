import type { Answer, Failed, Released } from "./answers.ts";
import type { Claim } from "./claim.ts";
import { isOutOfReach } from "./quorum.ts";

/** What came of asking all nodes to release. */
export interface ReleaseResult {
  /** Whether a quorum answered. Whether they still held the claim does not matter: they do not now. */
  readonly confirmed: boolean;
  readonly answers: readonly Answer<Released>[];
}

/** Asks all nodes once to free the claim; settles once a quorum has answered, or no longer can. */
export function releaseOnce(
  claim: Claim,
  { nodeCount, quorum, timeoutMs }: { readonly nodeCount: number; readonly quorum: number; readonly timeoutMs: number },
): Promise<ReleaseResult> {
  let replies = 0;
  let failures = 0;
  const ballot = {
    timeoutMs,
    answers: [],
    confirmed: false,
    count: ({ kind }: Released | Failed) => {
      if (kind === "failed") failures += 1;
      else replies += 1;
      ballot.confirmed = replies >= quorum;
      return ballot.confirmed || isOutOfReach(failures, nodeCount, quorum);
    },
  };
  return claim.release(ballot);
}
