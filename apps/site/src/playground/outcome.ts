/** The end of a run, in words. */
import type { Trace } from "@holdfast/simulation";
import { momentAt } from "./moment.ts";
import type { PlayedRun } from "./play.ts";
import { capitalized, counted, listed, storagePlaces } from "./words.ts";

/**
 * Says how a run ended.
 *
 * @example
 * outcomeOf(run); // "Two clients … Without fencing, 1 update was lost; with fencing, none: the storage refused token 1."
 */
export function outcomeOf({ trace, broken }: PlayedRun): string {
  const others = broken.filter((checker) => checker !== "mutual exclusion");
  return [
    others.length === broken.length
      ? `${were(trace.leases.length, "lock")} granted, and no two clients held the lock at the same time.`
      : "Two clients believed that they held the lock at the same time.",
    storageOutcome(trace),
    ...others.map((checker) => `The rule “${checker}” is violated.`),
  ].join(" ");
}

function storageOutcome(trace: Trace): string {
  const { storages } = momentAt(trace, trace.endedAtMs);
  const refused = trace.accesses.filter(({ results }) => results?.["checks all"].outcome === "refused");
  const tokens = [...new Set(refused.flatMap(({ fence }) => fence ?? []))];
  if (tokens.length === 0 && storages.every(({ lostUpdates }) => lostUpdates === 0))
    return "No storage lost an update.";
  const refusal = `: the storage refused ${tokens.length === 1 ? "token" : "tokens"} ${listed(tokens.map(String))}`;
  const parts = storages.map(({ kind, lostUpdates }) => {
    const lost = kind === "checks nothing" ? `${were(lostUpdates, "update")} lost` : lostUpdates || "none";
    return `${storagePlaces[kind]}, ${lost}${kind === "checks all" && tokens.length > 0 ? refusal : ""}`;
  });
  return `${capitalized(parts.join("; "))}.`;
}

function were(count: number, noun: string): string {
  return `${counted(count, noun)} ${count === 1 ? "was" : "were"}`;
}
