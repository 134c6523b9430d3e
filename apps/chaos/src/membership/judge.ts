import { lossesOf } from "../history/losses.ts";
import { type Overlap, overlapsOf } from "../history/overlaps.ts";
import { tokenFaultsOf } from "../history/tokens.ts";
import type { Sets } from "../history/visit.ts";
import type { Chronicle } from "./chronicle.ts";
import type { MemberError, MemberVisit } from "./messages.ts";

/** The results of a run. */
export interface Findings {
  readonly locks: number;
  /** How many locks clients of each epoch were granted. */
  readonly locksByEpoch: ReadonlyMap<number, number>;
  readonly medianWaitMs: number;
  readonly longestWaitMs: number;
  readonly overlaps: number;
  readonly tokenFaults: number;
  /** Updates lost in the sets without tokens. */
  readonly lostPlain: number;
  /** Updates lost in the sets that check tokens. */
  readonly lostFenced: number;
  /** See {@link Chronicle.errors}. */
  readonly errors: readonly MemberError[];
  /** Violations, in words; empty if there are none. */
  readonly violations: readonly string[];
}

/**
 * Checks the record of a run.
 *
 * @param sets the elements of the sets of each resource at the end
 * @param unserved the clients that were granted no lock at the last stage
 */
export function judgeRun(chronicle: Chronicle, sets: ReadonlyMap<string, Sets>, unserved: readonly string[]): Findings {
  const { granted, visits, probes } = chronicle;
  const byResource = [...sets].map(([resource, ofResource]) => {
    const here = visits.filter((visit) => visit.resource === resource);
    const losses = lossesOf(here, ofResource);
    // The lock is not to blame for a write after its end, which a paused process makes.
    const blamed = here.some(isLate) ? [] : losses.plain;
    return { overlaps: overlapsOf(here), tokenFaults: tokenFaultsOf(here), losses, blamed };
  });
  const sum = (of: (one: (typeof byResource)[number]) => readonly unknown[]): number =>
    byResource.reduce((total, one) => total + of(one).length, 0);
  const locksByEpoch = new Map<number, number>();
  for (const { epoch } of granted) locksByEpoch.set(epoch, (locksByEpoch.get(epoch) ?? 0) + 1);
  const waitsMs = granted.map(({ waitedMs }) => waitedMs).sort((a, b) => a - b);
  const findings = {
    locks: granted.length,
    locksByEpoch,
    medianWaitMs: waitsMs[Math.floor(waitsMs.length / 2)] ?? 0,
    longestWaitMs: waitsMs.at(-1) ?? 0,
    overlaps: sum(({ overlaps }) => overlaps),
    tokenFaults: sum(({ tokenFaults }) => tokenFaults),
    lostPlain: sum(({ losses }) => losses.plain),
    lostFenced: sum(({ losses }) => losses.fenced),
    errors: chronicle.errors,
  };
  const wrongProbes = probes.filter(({ wanted, error }) =>
    wanted === "served" ? error !== undefined : !error?.includes("does not serve clients of epoch"),
  );
  const violations = [
    ...counted(findings.overlaps, "grants while another client held the lock"),
    ...byResource.flatMap(({ overlaps }) => overlaps.map(describeOverlap)),
    ...counted(findings.tokenFaults, "tokens that are not larger than all before"),
    ...counted(findings.lostFenced, "updates lost though the set checks tokens"),
    ...counted(
      sum(({ blamed }) => blamed),
      "updates lost though the lock was held all the time",
    ),
    ...findings.errors.map(({ client, epoch, message }) => `${client} of epoch ${epoch} got an error: ${message}`),
    ...unserved.map((client) => `${client} got no lock at the last stage`),
    ...wrongProbes.map(({ what, wanted, error = "it got a lock" }) => `${what} must be ${wanted}: ${error}`),
  ];
  return { ...findings, violations };
}

function counted(count: number, what: string): string[] {
  return count === 0 ? [] : [`${what}: ${count}`];
}

function describeOverlap({ earlier, later }: Overlap): string {
  const lateMs = Math.round(earlier.heldUntilMs - later.grantedAtMs);
  const [first, second] = [earlier, later].map(({ client, fence, element }) => `${client} (token ${fence} ${element})`);
  return `${second} got a lock ${lateMs} ms before that of ${first} ended: ${earlier.end}`;
}

function isLate({ plain }: MemberVisit): boolean {
  return plain === "late";
}
