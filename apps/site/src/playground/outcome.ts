/** The end of a run, in words. */
import type { StorageKind, Trace } from "@holdfast/simulation";
import { momentAt } from "./moment.ts";
import { storagesToShow } from "./words.ts";
import type { PlayedRun } from "./worker.ts";

/**
 * Says how a run ended.
 *
 * @example
 * outcomeOf(run); // "Two clients … Without fencing, 1 update was lost; with fencing, none: the storage refused token 1."
 */
export function outcomeOf({ trace, violations }: PlayedRun): string {
  const isExclusive = !violations.some(({ checker }) => checker === "mutual exclusion");
  const others = violations.filter(({ checker }) => checker !== "mutual exclusion");
  return [
    isExclusive
      ? `${counted(trace.leases.length, "lock")} granted, and no two clients held the lock at the same time.`
      : "Two clients believed that they held the lock at the same time.",
    storageOutcome(trace),
    ...others.map(({ checker, what }) => `The rule “${checker}” is violated: ${what}.`),
  ].join(" ");
}

function storageOutcome(trace: Trace): string {
  const { storages } = momentAt(trace, trace.endedAtMs);
  const lostBy = (kind: StorageKind): number => storages.find((storage) => storage.kind === kind)?.lostUpdates ?? 0;
  const refused = trace.accesses.filter(({ results }) => results?.["checks all"].outcome === "refused");
  const tokens = [...new Set(refused.flatMap(({ fence }) => fence ?? []))];
  const refusal =
    tokens.length === 0 ? "" : `: the storage refused ${tokens.length === 1 ? "token" : "tokens"} ${listed(tokens)}`;
  const kinds = storagesToShow(trace);
  if (tokens.length === 0 && kinds.every((kind) => lostBy(kind) === 0)) return "No storage lost an update.";
  const writes = kinds.includes("checks writes")
    ? `; with fencing of writes only, ${lostBy("checks writes") || "none"}`
    : "";
  const without = lostBy("checks nothing");
  const lost = without === 0 ? "no update was lost" : `${counted(without, "update")} lost`;
  const guarded = kinds.includes("is guarded") ? `; in the guarded table, ${lostBy("is guarded") || "none"}` : "";
  return `Without fencing, ${lost}${writes}; with fencing, ${lostBy("checks all") || "none"}${refusal}${guarded}.`;
}

/** The most tokens that a sentence names. */
const mostTokens = 3;

function listed(tokens: readonly number[]): string {
  const more = tokens.length - mostTokens;
  return more > 0 ? `${tokens.slice(0, mostTokens).join(", ")} and ${more} more` : tokens.join(" and ");
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? " was" : "s were"}`;
}
