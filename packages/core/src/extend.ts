import type { Claim } from "./claim.ts";
import type { LockNode } from "./lock-node.ts";
import type { Tally } from "./quorum-call.ts";

/** What a round of extension asks for. */
export interface ExtensionTerms {
  readonly ttlMs: number;
  readonly fence: number;
  readonly quorum: number;
  readonly timeoutMs: number;
  /** The nodes that did not hold the claim in earlier rounds of the same extension; this round adds its own. */
  readonly absent: boolean[];
}

/** The outcome of a round of extension. */
export interface Extension {
  /**
   * `held`: a quorum holds the claim. `lost`: so many nodes do not hold it that no quorum can. `unreachable`: too few
   * answered to tell. `misconfigured`: so many said that the claim can never be kept like this that trying again is of no
   * use. Nodes that rejoined count as not holding the claim until the next extension (S8).
   */
  readonly outcome: "held" | "lost" | "unreachable" | "misconfigured";
  readonly votes: Tally["votes"];
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
      isDecided: (votesSoFar) => outcomeOf(votesSoFar, nodes.length, quorum) !== undefined,
    },
  );
  return { outcome: outcomeOf(tally, nodes.length, quorum) ?? "unreachable", votes: tally.votes };
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
