import { parseCommand, type Setup } from "../src/options.ts";
import { Run, type Visit } from "../src/run.ts";

/** The setup of a command line. */
export function setupOf(...args: readonly string[]): Setup {
  const command = parseCommand(args);
  if (command.kind !== "run") throw new Error(JSON.stringify(command));
  return command.options;
}

/** A run of two workers in which nothing has happened. */
export function newRun(options: readonly string[] = []): Run {
  return new Run(setupOf("--workers", "2", ...options));
}

/** The run after the workers have reported these visits. */
export function hearing(visits: readonly Visit[], run: Run = newRun()): Run {
  for (const visit of visits) run.hear(visit);
  return run;
}

/** A successful visit of one second, with these details. */
export function visitOf(details: Partial<Visit>): Visit {
  const { enteredAtMs = 0 } = details;
  return {
    ...{ worker: "w1", resource: "orders", fence: 1, calledAtMs: enteredAtMs - 5, enteredAtMs, write: "accepted" },
    ...{ leftAtMs: enteredAtMs + 1000, validUntilMs: enteredAtMs + 2000 },
    ...{ readAtMs: enteredAtMs + 100, wroteAtMs: enteredAtMs + 900 },
    ...details,
  };
}

/** A call for a lock that has not been granted. */
export function callOf(worker: string, resource: string, details: Partial<Visit> = {}): Visit {
  const never = { enteredAtMs: Infinity, validUntilMs: Infinity, readAtMs: Infinity, wroteAtMs: Infinity };
  return { ...{ worker, resource, calledAtMs: 0, fence: 0, write: "none", leftAtMs: Infinity }, ...never, ...details };
}

/** A run without failures except two nodes that die and a paused worker. */
export function goodRun(lateWrite: Visit["write"] = "refused"): Run {
  const run = hearing([
    visitOf({ fence: 10, enteredAtMs: 2000 }),
    visitOf({ worker: "w2", fence: 11, enteredAtMs: 6000, calledAtMs: 5993 }),
    visitOf({ resource: "ledger", fence: 13, enteredAtMs: 12_500, calledAtMs: 12_499 }),
    visitOf({
      ...{ worker: "sleeper", resource: "ledger", fence: 12, write: lateWrite, newestFence: 13 },
      ...{ calledAtMs: 9100, enteredAtMs: 10_000, leftAtMs: 15_000, validUntilMs: 12_000 },
      ...{ readAtMs: 10_100, wroteAtMs: 14_500 },
    }),
  ]);
  Object.assign(run.twoDown, { fromMs: 4000, untilMs: 8000 });
  for (const worker of ["sleeper", "w1", "w2"]) run.finished.add(worker);
  run.samples.set("orders", { value: 2, lost: 0 });
  run.samples.set("ledger", { value: 1, lost: 0 });
  return run;
}
