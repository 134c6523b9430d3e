import type { How, Report } from "./messages.ts";

/** The events so far. */
export interface Tally {
  /** The number of locks, by the way of acquiring them. */
  readonly locks: Record<How, number>;
  /** The number of calls that gave up or were denied. */
  gaveUp: number;
  /** The number of locks acquired while the program held another. */
  nested: number;
  /** The number of locks that covered several resources. */
  several: number;
  /** The longest wait of a call without a time limit, in milliseconds. */
  longestWaitMs: number;
}

/** A call that waits. */
export interface Wait {
  readonly program: string;
  readonly resources: readonly string[];
  readonly how: How;
  readonly sinceMs: number;
}

/** Checks the reports of programs: holders, tokens and waits. */
export interface Referee {
  readonly tally: Tally;
  /** The violations. */
  readonly problems: readonly string[];
  /** Notes a report, in the order of the events. */
  note(report: Report): void;
  /** The calls that wait, the longest first. */
  readonly waits: readonly Wait[];
  /** Describes what each waiting call wants, and its holders. */
  describeWaits(): string[];
}

/** Makes a referee without reports. */
export function createReferee(clockMs: () => number = () => performance.now()): Referee {
  const holders = new Map<string, string>();
  const fences = new Map<string, number>();
  const held = new Map<string, (readonly string[])[]>();
  const waits = new Map<string, Wait>();
  const releasing = new Set<string>();
  const problems: string[] = [];
  const locks = { acquire: 0, using: 0, "time-out": 0, abort: 0, tryAcquire: 0 };
  const tally: Tally = { locks, gaveUp: 0, nested: 0, several: 0, longestWaitMs: 0 };

  const heldBy = (program: string): (readonly string[])[] => {
    const sets = held.get(program) ?? [];
    held.set(program, sets);
    return sets;
  };
  const enter = (program: string, resources: readonly string[], fence: number): void => {
    const wait = waits.get(program);
    waits.delete(program);
    if (wait !== undefined) {
      tally.locks[wait.how] += 1;
      const isLimited = wait.how !== "acquire" && wait.how !== "using";
      if (!isLimited) tally.longestWaitMs = Math.max(tally.longestWaitMs, clockMs() - wait.sinceMs);
    }
    if (heldBy(program).length > 0) tally.nested += 1;
    if (resources.length > 1) tally.several += 1;
    for (const resource of resources) {
      const holder = holders.get(resource);
      if (holder !== undefined) problems.push(`${program} entered ${resource} while ${holder} was in it`);
      const last = fences.get(resource) ?? 0;
      if (fence <= last) problems.push(`${program} entered ${resource} with token ${fence} after token ${last}`);
      fences.set(resource, Math.max(fence, last));
      holders.set(resource, program);
    }
    heldBy(program).push(resources);
  };
  const leave = (program: string, resources: readonly string[], isValid: boolean): void => {
    if (!isValid) problems.push(`${program} lost its lock on ${resources.join(", ")}`);
    for (const resource of resources) if (holders.get(resource) === program) holders.delete(resource);
    heldBy(program).pop();
    releasing.add(program);
  };

  return {
    tally,
    problems,
    note(report) {
      const { program } = report;
      if (report.event === "wants") {
        waits.set(program, { program, resources: report.resources, how: report.how, sinceMs: clockMs() });
      } else if (report.event === "gaveUp") {
        waits.delete(program);
        tally.gaveUp += 1;
      } else if (report.event === "entered") enter(program, report.resources, report.fence);
      else if (report.event === "leaves") leave(program, report.resources, report.isValid);
      else releasing.delete(program);
    },
    get waits() {
      return [...waits.values()].sort((a, b) => a.sinceMs - b.sinceMs);
    },
    describeWaits() {
      const lines = this.waits.map(({ program, resources, how, sinceMs }) => {
        const wanted = resources.map((resource) => `${resource} (${holders.get(resource) ?? "free"})`);
        const own = heldBy(program).flat();
        const holding = own.length > 0 ? `, and holds ${own.join(", ")}` : "";
        const seconds = ((clockMs() - sinceMs) / 1_000).toFixed(1);
        return `${program} waits for ${wanted.join(", ")} by ${how} since ${seconds} s${holding}`;
      });
      return [...lines, ...[...releasing].map((program) => `${program} waits for the end of its release`)];
    },
  };
}
