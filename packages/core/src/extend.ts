import type { Claim, ExtendTerms } from "./claim.ts";
import { type Quorum, type Tally, type Vote, verdict } from "./votes.ts";

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

/**
 * Makes one extension round: asks every node once to keep the claim.
 *
 * @param absent marks nodes that did not hold the claim in earlier rounds of this extension. Each round adds to it
 */
export async function extendOnce(
  claim: Claim,
  terms: Omit<ExtendTerms, "rejoin">,
  quorum: Quorum,
  absent: boolean[],
): Promise<Extension> {
  const isYes = ({ kind }: Vote, index: number): boolean => {
    absent[index] ||= kind !== "held";
    return !absent[index];
  };
  const isDecided = (tally: Tally): boolean => extensionOutcome(tally, quorum) !== undefined;
  const tally = await claim.extend({ ...terms, rejoin: true }, { quorum, isYes, isDecided });
  return { outcome: extensionOutcome(tally, quorum) ?? "unreachable", votes: tally.votes };
}

/** Returns the outcome if no missing reply can change it, else undefined. */
function extensionOutcome({ verdicts }: Tally, quorum: Quorum): Extension["outcome"] | undefined {
  const { yes, no, failed, misconfigured, missing } = verdict;
  const has = (wanted: number): boolean => quorum.isReachedBy(verdicts, wanted);
  if (has(yes)) return "held";
  if (!has(yes + failed + misconfigured + missing)) return "lost";
  if (has(yes + missing) || !has(yes + failed + misconfigured)) return undefined;
  return has(yes + no + failed + missing) ? "unreachable" : "misconfigured";
}
