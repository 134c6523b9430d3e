import type { DemoEvent, Happening, Sampled, Visit } from "../src/events.ts";
import { initialModel, type Model } from "../src/model/model.ts";
import { reduce } from "../src/model/reduce.ts";
import { type Setup, setupOf } from "../src/setup.ts";

/** The setup of a plain run. */
export const setup: Setup = setupOf({ redis: false, seconds: 20, workers: 2, broken: false, metrics: false });

/** The model after these events, one second apart. */
export function after(happenings: readonly (Happening | DemoEvent)[], ofSetup: Setup = setup): Model {
  return happenings.reduce<Model>(
    (model, happening, index) => reduce(model, { atMs: 1000 * index, ...happening }),
    initialModel(ofSetup),
  );
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
    newestFence: null,
    ...details,
  };
}

/** The event of a worker that leaves. */
export function left(details: Partial<Visit>): Happening {
  return { kind: "left", visit: visitOf(details) };
}

/** The event of an inspection. */
export function sampled(resource: string, value: number, holder: Partial<Sampled> = {}): Happening {
  return { kind: "sampled", resource, holder: null, remainingMs: null, fence: 0, value, ...holder };
}

/** A run without failures except two nodes that die and a paused worker. */
export const goodRun: readonly Happening[] = [
  { kind: "began" },
  { kind: "waiting", worker: "w1", resource: "orders" },
  { kind: "entered", worker: "w1", resource: "orders", fence: 10, waitedMs: 5 },
  left({ fence: 10, enteredAtMs: 2000 }),
  { kind: "node-killed", node: "n2" },
  { kind: "node-killed", node: "n4" },
  { kind: "entered", worker: "w2", resource: "orders", fence: 11, waitedMs: 7 },
  left({ worker: "w2", fence: 11, enteredAtMs: 6000 }),
  { kind: "node-back", node: "n2", memory: "lost", awayMs: 4000 },
  { kind: "node-back", node: "n4", memory: "lost", awayMs: 4000 },
  { kind: "entered", worker: "sleeper", resource: "ledger", fence: 12, waitedMs: 900 },
  { kind: "paused", worker: "sleeper", resource: "ledger" },
  { kind: "entered", worker: "w1", resource: "ledger", fence: 13, waitedMs: 1 },
  left({ resource: "ledger", fence: 13, enteredAtMs: 12_500 }),
  { kind: "resumed", worker: "sleeper", pausedMs: 2500 },
  left({
    ...{ worker: "sleeper", resource: "ledger", fence: 12, write: "refused", newestFence: 13 },
    ...{ enteredAtMs: 10_000, leftAtMs: 15_000, validUntilMs: 12_000, readAtMs: 10_100, wroteAtMs: 14_500 },
  }),
  { kind: "worker-finished", worker: "sleeper" },
  { kind: "worker-finished", worker: "w1" },
  { kind: "worker-finished", worker: "w2" },
  sampled("orders", 2),
  sampled("ledger", 1),
  sampled("orders", 2),
  sampled("ledger", 1),
];
