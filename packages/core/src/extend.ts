import { type Answer, type Failed, type Held, isMisconfigured, type NotHeld } from "./answers.ts";
import type { Claim } from "./claim.ts";
import type { LockNode } from "./lock-node.ts";
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
  readonly answers: readonly Answer<Held | NotHeld>[];
}

/** Asks all nodes once to keep the claim. */
export function extendOnce(nodes: readonly LockNode[], claim: Claim, terms: ExtensionTerms): Promise<Extension> {
  const { ttlMs, fence, quorum, timeoutMs, absent } = terms;
  let held = 0;
  let notHeld = 0;
  let misconfigured = 0;
  let pending = nodes.length;
  const isHopelessWithout = (dropped: number): boolean => isOutOfReach(dropped, nodes.length, quorum);
  /** The outcome as far as it is certain, whatever the nodes that have not answered may still say. */
  const certainOutcome = (): Extension["outcome"] | undefined => {
    if (held >= quorum) return "held";
    if (isHopelessWithout(notHeld)) return "lost";
    if (held + pending >= quorum || isHopelessWithout(notHeld + pending)) return undefined;
    return isHopelessWithout(misconfigured) ? "misconfigured" : "unreachable";
  };
  const ballot = {
    timeoutMs,
    answers: [],
    outcome: "unreachable" as Extension["outcome"],
    count: (answer: Held | NotHeld | Failed, index: number) => {
      pending -= 1;
      if (answer.kind === "failed") misconfigured += isMisconfigured(answer) ? 1 : 0;
      else {
        absent[index] ||= answer.kind !== "held";
        if (absent[index]) notHeld += 1;
        else held += 1;
      }
      const outcome = certainOutcome();
      ballot.outcome = outcome ?? "unreachable";
      return outcome !== undefined;
    },
  };
  return claim.extend(nodes, { ttlMs, fence, rejoin: true }, ballot);
}
