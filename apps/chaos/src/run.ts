import type { Cleanup } from "@holdfast/testkit/cleanup";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import { attack } from "./attack/attack.ts";
import type { History } from "./history/visit.ts";
import { type Findings, judge } from "./judge.ts";
import type { ChaosOptions } from "./options.ts";
import { type Slice, scheduleOf } from "./schedule.ts";
import { startWorld } from "./world/world.ts";

/** An attack and its results. */
export interface Result {
  readonly slice: Slice;
  readonly history: History;
  readonly findings: Findings;
  /** The start, in milliseconds since the start of the first attack. */
  readonly atMs: number;
}

/**
 * Starts a world and attacks it as scheduled.
 *
 * @param watch is called when the attacks begin, and after each of them
 */
export async function run(
  options: ChaosOptions,
  watch: { begun(): void; attacked(result: Result): void },
  cleanup: Cleanup,
  signal: AbortSignal,
): Promise<readonly Result[]> {
  const clocks = options.nemeses.some((nemesis) => nemesis.clocks);
  const world = await startWorld({ ...options, clocks }, cleanup);
  watch.begun();
  const results: Result[] = [];
  const startMs = monotonicMs();
  for (const slice of scheduleOf(options)) {
    signal.throwIfAborted();
    const atMs = monotonicMs() - startMs;
    const history = await attack(world, slice, options, signal);
    const result = { slice, history, findings: judge(slice.nemesis, history), atMs };
    watch.attacked(result);
    results.push(result);
  }
  return results;
}
