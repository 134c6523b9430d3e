import { isFailure } from "./answers.ts";
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
  { nodeCount, quorum, timeoutMs }: { readonly nodeCount: number; readonly quorum: number; readonly timeoutMs: number },
): Promise<ReleaseResult> {
  let replies = 0;
  let failures = 0;
  const answers = await claim.release({
    timeoutMs,
    count: (answer) => {
      if (isFailure(answer)) failures += 1;
      else replies += 1;
      return replies >= quorum || isOutOfReach(failures, nodeCount, quorum);
    },
  });
  return { confirmed: replies >= quorum, answers };
}
