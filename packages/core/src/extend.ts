import type { Claim } from "./claim.ts";
import { type Quorum, verdict } from "./node-sets.ts";
import type { Tally } from "./quorum-call.ts";

/** The terms of one extension round. */
export interface ExtensionTerms {
  readonly ttlMs: number;
  readonly fence: number;
  readonly quorum: Quorum;
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
export async function extendOnce(claim: Claim, terms: ExtensionTerms): Promise<Extension> {
  const { ttlMs, fence, quorum, timeoutMs, absent } = terms;
  const tally = await claim.extend(
    { ttlMs, fence, rejoin: true, timeoutMs },
    {
      quorum,
      isYes: ({ kind }, index) => {
        absent[index] ||= kind !== "held";
        return !absent[index];
      },
      isDecided: (votesSoFar) => extensionOutcome(votesSoFar, quorum) !== undefined,
    },
  );
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
