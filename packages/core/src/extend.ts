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
   * Whether a quorum holds the claim; or so many do not that no quorum can; or too few answered to tell. Nodes that
   * claimed it again just now count as not holding it: only from the next round on do they (S8).
   */
  readonly outcome: "held" | "lost" | "unreachable";
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
  let held = 0;
  let notHeld = 0;
  let failed = 0;
  for (const answer of answers) {
    if (answer instanceof Error) failed += 1;
    else if (answer?.held === true) held += 1;
    else if (answer?.held === false) notHeld += 1;
  }
  if (held >= quorum) return "held";
  if (isOutOfReach(notHeld, answers.length, quorum)) return "lost";
  const pending = answers.length - held - notHeld - failed;
  const mayStillBeLost = isOutOfReach(notHeld + pending, answers.length, quorum);
  return held + pending < quorum && !mayStillBeLost ? "unreachable" : undefined;
}
