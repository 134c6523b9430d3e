import type { Claim } from "./claim.ts";
import { type NodeSets, reaches } from "./node-sets.ts";
import type { Tally } from "./quorum-call.ts";

/** The terms of one extension round. */
export interface ExtensionTerms {
  readonly ttlMs: number;
  readonly fence: number;
  readonly quorum: number;
  readonly timeoutMs: number;
  /** Marks nodes that did not hold the claim in earlier rounds of this extension. Each round adds to it. */
  readonly absent: boolean[];
}

/** The outcome of one extension round. */
export interface Extension {
  /**
   * `held`: a quorum holds the claim. `lost`: too few nodes hold it to form a quorum. `unreachable`: too few replied to
   * tell. `misconfigured`: so many nodes report a configuration error that retrying cannot help. Nodes that rejoined
   * count as not holding the claim until the next extension (S8).
   */
  readonly outcome: "held" | "lost" | "unreachable" | "misconfigured";
  readonly votes: Tally["votes"];
}

/** Makes one extension round: asks every node once to keep the claim. */
export async function extendOnce(sets: NodeSets, claim: Claim, terms: ExtensionTerms): Promise<Extension> {
  const { ttlMs, fence, quorum, timeoutMs, absent } = terms;
  const { nodes } = sets;
  const all = sets.countOf(nodes);
  const tally = await claim.extend(
    nodes,
    { ttlMs, fence, rejoin: true },
    {
      timeoutMs,
      isYes: ({ kind }, index) => {
        absent[index] ||= kind !== "held";
        return !absent[index];
      },
      isDecided: (votesSoFar) => outcomeOf(votesSoFar, all, quorum) !== undefined,
    },
  );
  return { outcome: outcomeOf(tally, all, quorum) ?? "unreachable", votes: tally.votes };
}

/** Returns the outcome if no missing reply can change it, else undefined. */
function outcomeOf(
  { yes, no, missing, misconfigured }: Tally,
  all: number,
  quorum: number,
): Extension["outcome"] | undefined {
  /** Whether the remaining nodes are no quorum once this many have dropped out. */
  const isHopelessWithout = (dropped: number): boolean => !reaches(all - dropped, quorum);
  if (reaches(yes, quorum)) return "held";
  if (isHopelessWithout(no)) return "lost";
  if (reaches(yes + missing, quorum) || isHopelessWithout(no + missing)) return undefined;
  return isHopelessWithout(misconfigured) ? "misconfigured" : "unreachable";
}
