import type { Tally } from "./answers.ts";
import type { Claim } from "./claim.ts";
import type { LockNode } from "./lock-node.ts";

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
  readonly answers: Tally["answers"];
}

/** Asks all nodes once to keep the claim. */
export async function extendOnce(nodes: readonly LockNode[], claim: Claim, terms: ExtensionTerms): Promise<Extension> {
  const { ttlMs, fence, quorum, timeoutMs, absent } = terms;
  const tally = await claim.extend(
    nodes,
    { ttlMs, fence, rejoin: true },
    {
      timeoutMs,
      isYes: ({ kind }, index) => {
        absent[index] ||= kind !== "held";
        return !absent[index];
      },
      isDecided: (sofar) => outcomeOf(sofar, nodes.length, quorum) !== undefined,
    },
  );
  return { outcome: outcomeOf(tally, nodes.length, quorum) ?? "unreachable", answers: tally.answers };
}

/** The outcome as far as it is certain, whatever the nodes that have not answered may still say. */
function outcomeOf(
  { yes, no, missing, misconfigured }: Tally,
  nodeCount: number,
  quorum: number,
): Extension["outcome"] | undefined {
  /** Whether the rest is no quorum once so many nodes have dropped out. */
  const isHopelessWithout = (dropped: number): boolean => nodeCount - dropped < quorum;
  if (yes >= quorum) return "held";
  if (isHopelessWithout(no)) return "lost";
  if (yes + missing >= quorum || isHopelessWithout(no + missing)) return undefined;
  return isHopelessWithout(misconfigured) ? "misconfigured" : "unreachable";
}
