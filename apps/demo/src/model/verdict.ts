import type { Visit } from "../events.ts";
import { lostUpdates, type Model } from "./model.ts";

/** A claim about a run, and whether it holds. */
export interface Check {
  readonly claim: string;
  readonly holds: boolean;
  /** The evidence. */
  readonly finding: string;
}

/** Checks all claims after a run. */
export function verdictOf(model: Model): readonly Check[] {
  return [
    noLostUpdate(model),
    nobodyTogether(model),
    tokensRise(model),
    lateWriteRefused(model),
    noStaleWrite(model),
    workWentOn(model),
    allFinished(model),
  ];
}

function noLostUpdate(model: Model): Check {
  const increments = model.resources.reduce((sum, resource) => sum + resource.increments, 0);
  const lost = lostUpdates(model);
  return {
    claim: "no update was lost",
    holds: lost === 0 && increments > 0,
    finding: lost === 0 ? `the counters show all ${increments} increments` : `${lost} of ${increments} were lost`,
  };
}

function nobodyTogether({ visits }: Model): Check {
  const pairs = overlaps(visits);
  const [first] = pairs;
  return {
    claim: "no two workers held the same lock at once",
    holds: first === undefined,
    finding: first
      ? `${pairs.length} overlaps, the first of ${first[0].worker} and ${first[1].worker} on ${first[0].resource}`
      : `${visits.length} visits compared`,
  };
}

function tokensRise({ visits }: Model): Check {
  const [first] = tokenFaults(visits);
  return {
    claim: "every lock had a larger token than those before",
    holds: first === undefined,
    finding: first ? `${first[1].fence} came after ${first[0].fence} on ${first[0].resource}` : "on each resource",
  };
}

function lateWriteRefused({ pause, staleWritesRefused, setup }: Model): Check {
  const count = `${staleWritesRefused} refused`;
  return {
    claim: "the paused worker's late write was refused",
    holds: pause?.write === "refused",
    finding: pause?.write === "refused" ? count : `the write of ${setup.sleeper}: ${pause?.write ?? "never tried"}`,
  };
}

function noStaleWrite({ visits, setup }: Model): Check {
  const fenced = setup.resources.filter((resource) => resource.fenced).map(({ name }) => name);
  const accepted = staleWritesAccepted(visits.filter(({ resource }) => fenced.includes(resource)));
  return {
    claim: "no stale write was accepted",
    holds: accepted.length === 0,
    finding: accepted[0]
      ? `${accepted.length} accepted, the first of ${accepted[0].worker}`
      : `by ${fenced.join(", ")}`,
  };
}

function workWentOn({ grantsWhileTwoDown }: Model): Check {
  return {
    claim: "locks were granted while two nodes were down",
    holds: grantsWhileTwoDown > 0,
    finding: `${grantsWhileTwoDown} locks`,
  };
}

function allFinished({ setup, finished, failures }: Model): Check {
  const missing = [...setup.workers, setup.sleeper].filter((worker) => !finished.has(worker));
  const unfinished = missing.length > 0 ? [`not finished: ${missing.join(", ")}`] : [];
  return {
    claim: "every worker finished cleanly",
    holds: missing.length === 0 && failures.length === 0,
    finding: [...unfinished, ...failures].join("; ") || `${finished.size} workers`,
  };
}

type Pair = readonly [earlier: Visit, later: Visit];

/**
 * Finds pairs of workers that held the lock of a resource at the same time: one entered while another was inside and its
 * lock still valid. A worker that stays past the validity, as the paused one does, no longer holds the lock.
 */
export function overlaps(visits: readonly Visit[]): readonly Pair[] {
  const pairs: Pair[] = [];
  for (const onResource of byResource(visits)) {
    let longest: Visit | undefined;
    for (const visit of onResource) {
      if (longest !== undefined && visit.enteredAtMs < holdsUntilMs(longest)) pairs.push([longest, visit]);
      if (longest === undefined || holdsUntilMs(visit) > holdsUntilMs(longest)) longest = visit;
    }
  }
  return pairs;
}

/** Finds pairs of consecutive locks on a resource whose tokens do not grow. */
export function tokenFaults(visits: readonly Visit[]): readonly Pair[] {
  return byResource(visits).flatMap((onResource) =>
    onResource.flatMap((visit, index): Pair[] => {
      const before = onResource[index - 1];
      return before !== undefined && visit.fence <= before.fence ? [[before, visit]] : [];
    }),
  );
}

/** Finds accepted writes that were sent after a worker with a later lock had read. */
export function staleWritesAccepted(visits: readonly Visit[]): readonly Visit[] {
  return byResource(visits).flatMap((onResource) =>
    onResource.filter(({ write, wroteAtMs }, index) => {
      if (write !== "accepted" || wroteAtMs === null) return false;
      for (let later = index + 1; later < onResource.length; later++) {
        const { enteredAtMs, readAtMs } = onResource[later] as Visit;
        if (enteredAtMs >= wroteAtMs) return false;
        if (readAtMs !== null && readAtMs < wroteAtMs) return true;
      }
      return false;
    }),
  );
}

function holdsUntilMs({ leftAtMs, validUntilMs }: Visit): number {
  return Math.min(leftAtMs, validUntilMs);
}

/** Groups visits by resource, in the order of their grants. */
function byResource(visits: readonly Visit[]): readonly (readonly Visit[])[] {
  const groups = new Map<string, Visit[]>();
  for (const visit of visits) {
    const group = groups.get(visit.resource);
    if (group === undefined) groups.set(visit.resource, [visit]);
    else group.push(visit);
  }
  return [...groups.values()].map((group) => group.sort((a, b) => a.enteredAtMs - b.enteredAtMs));
}
