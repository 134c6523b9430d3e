import { parseOptions, type Setup } from "../src/options.ts";
import { Run, type Visit, type WorkerEvent } from "../src/run.ts";

/** A run of two workers in which nothing has happened. */
export function newRun(options: readonly string[] = []): Run {
  return new Run(parseOptions(["--workers", "2", ...options]) as Setup);
}

/** The run after the workers have told these events. */
export function hearing(events: readonly WorkerEvent[], run: Run = newRun()): Run {
  for (const event of events) run.hear(event);
  return run;
}

/** A successful visit of one second, with these details. */
export function visitOf(details: Partial<Visit>): Visit {
  const enteredAtMs = details.enteredAtMs ?? 0;
  return {
    worker: "w1",
    resource: "orders",
    fence: 1,
    enteredAtMs,
    leftAtMs: enteredAtMs + 1000,
    validUntilMs: enteredAtMs + 2000,
    readAtMs: enteredAtMs + 100,
    wroteAtMs: enteredAtMs + 900,
    write: "accepted",
    ...details,
  };
}

/** The event of a worker that leaves. */
export function left(details: Partial<Visit>): WorkerEvent {
  return { kind: "left", ...visitOf(details) };
}

/** The event of a worker that gets a lock. */
export function entered(worker: string, resource: string, fence: number, atMs: number, waitedMs: number): WorkerEvent {
  return { kind: "entered", worker, resource, fence, atMs, waitedMs };
}

/** The second sample compares the counter with the increments that the first one knew. */
export function sampleTwice(run: Run, resource: string, value: number): void {
  run.sample(resource, { value });
  run.sample(resource, { value });
}

/** A run without failures except two nodes that die and a paused worker. */
export function goodRun(lateWrite: Visit["write"] = "refused"): Run {
  const run = hearing([entered("w1", "orders", 10, 2000, 5), left({ fence: 10, enteredAtMs: 2000 })]);
  for (const name of ["n2", "n4"]) run.nodes.set(name, { state: "down", sinceMs: 4000 });
  hearing([entered("w2", "orders", 11, 6000, 7), left({ worker: "w2", fence: 11, enteredAtMs: 6000 })], run);
  for (const name of ["n2", "n4"]) run.nodes.set(name, { state: "up", sinceMs: 8000 });
  hearing([entered("sleeper", "ledger", 12, 10_000, 900)], run);
  run.pause = { sinceMs: 11_000 };
  hearing(
    [
      entered("w1", "ledger", 13, 12_500, 1),
      left({ resource: "ledger", fence: 13, enteredAtMs: 12_500 }),
      left({
        ...{ worker: "sleeper", resource: "ledger", fence: 12, write: lateWrite, newestFence: 13 },
        ...{ enteredAtMs: 10_000, leftAtMs: 15_000, validUntilMs: 12_000, readAtMs: 10_100, wroteAtMs: 14_500 },
      }),
    ],
    run,
  );
  for (const worker of ["sleeper", "w1", "w2"]) run.finished.add(worker);
  sampleTwice(run, "orders", 2);
  sampleTwice(run, "ledger", 1);
  return run;
}
