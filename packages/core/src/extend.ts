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
  /** Which nodes did not hold it in earlier rounds of the same extension; this round adds its own. */
  readonly absent: boolean[];
}

/** What a round of extension came to. */
export interface Extension {
  /**
   * Whether a quorum holds the claim; or so many do not that no quorum can; or too few answered to tell; or so many said
   * that it can never be kept like this that trying again is of no use. Nodes that claimed it again count as not
   * holding it: only from the next extension on do they (S8).
   */
  readonly outcome: "held" | "lost" | "unreachable" | "misconfigured";
  readonly answers: readonly Answer<ExtendReply>[];
}

/** Asks all nodes once to keep the claim. */
export async function extendOnce(nodes: readonly LockNode[], claim: Claim, terms: ExtensionTerms): Promise<Extension> {
  const { ttlMs, fence, timeoutMs, absent } = terms;
  const answers = await claim.extend(
    nodes,
    { ttlMs, fence, rejoin: true },
    { timeoutMs, isDecided: (sofar) => outcomeOf(sofar, terms) !== undefined },
  );
  for (const [index, answer] of answers.entries()) absent[index] ||= isReply(answer) && !answer.held;
  return { outcome: outcomeOf(answers, terms) ?? "unreachable", answers };
}

/** The outcome as far as it is certain, whatever the nodes that have not answered may still say. */
function outcomeOf(
  answers: readonly Answer<ExtendReply>[],
  { quorum, absent }: ExtensionTerms,
): Extension["outcome"] | undefined {
  const held = count(answers, (answer, index) => isReply(answer) && answer.held && !absent[index]);
  const notHeld = count(answers, isReply) - held;
  const pending = count(answers, isMissing);
  const isHopelessWithout = (dropped: number): boolean => isOutOfReach(dropped, answers.length, quorum);
  if (held >= quorum) return "held";
  if (isHopelessWithout(notHeld)) return "lost";
  if (held + pending >= quorum || isHopelessWithout(notHeld + pending)) return undefined;
  return isHopelessWithout(count(answers, isMisconfigured)) ? "misconfigured" : "unreachable";
}
