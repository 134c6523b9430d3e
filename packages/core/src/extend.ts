import { count, isMisconfigured, isMissing, isReply } from "./answers.ts";
import type { Answer } from "./broadcast.ts";
import type { Claim } from "./claim.ts";
import type { ExtendReply, LockNode } from "./lock-node.ts";
import { isOutOfReach } from "./quorum.ts";

/** What a round of extension asks for. */
export interface ExtensionTerms {
  readonly ttlMs: number;
  readonly fence: number;
  readonly quorum: number;
  readonly timeoutMs: number;
}

/** What a round of extension came to. */
export interface Extension {
  /**
   * Whether a quorum holds the claim; or so many do not that no quorum can; or too few answered to tell; or so many said
   * that it can never be kept like this that trying again is of no use. Nodes that claimed it again just now count as not
   * holding it: only from the next round on do they (S8).
   */
  readonly outcome: "held" | "lost" | "unreachable" | "misconfigured";
  readonly answers: readonly Answer<ExtendReply>[];
}

/** Asks all nodes once to keep the claim. */
export async function extendOnce(nodes: readonly LockNode[], claim: Claim, terms: ExtensionTerms): Promise<Extension> {
  const { ttlMs, fence, quorum, timeoutMs } = terms;
  const answers = await claim.extend(
    nodes,
    { ttlMs, fence, rejoin: true },
    { timeoutMs, isDecided: (sofar) => outcomeOf(sofar, quorum) !== undefined },
  );
  return { outcome: outcomeOf(answers, quorum) ?? "unreachable", answers };
}

/** The outcome as far as it is certain, whatever the nodes that have not answered may still say. */
function outcomeOf(answers: readonly Answer<ExtendReply>[], quorum: number): Extension["outcome"] | undefined {
  const held = count(answers, (answer) => isReply(answer) && answer.held);
  const notHeld = count(answers, (answer) => isReply(answer) && !answer.held);
  const pending = count(answers, isMissing);
  if (held >= quorum) return "held";
  if (isOutOfReach(notHeld, answers.length, quorum)) return "lost";
  const mayStillBeLost = isOutOfReach(notHeld + pending, answers.length, quorum);
  if (held + pending >= quorum || mayStillBeLost) return undefined;
  return isOutOfReach(count(answers, isMisconfigured), answers.length, quorum) ? "misconfigured" : "unreachable";
}
