import type { Cleanup } from "@holdfast/testkit/cleanup";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import { attack } from "./attack/attack.ts";
import type { History } from "./history/visit.ts";
import { type Findings, judge } from "./judge.ts";
import { names } from "./names.ts";
import type { ChaosOptions } from "./options.ts";
import { type Slice, scheduleOf } from "./schedule.ts";
import { startWorld } from "./world/world.ts";

/** No persistence, and the settings that `loading` needs. */
const serverArgs: readonly string[] = [
  ...["--enable-debug-command", "local"],
  ...["--rdbcompression", "no", "--loading-process-events-interval-bytes", "1024"],
];

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
  const { ttlMs } = options;
  const clocks = options.nemeses.some((nemesis) => nemesis.clocks);
  const nodeTimeoutMs = Math.ceil(ttlMs * 0.15);
  // The delay is longer than the node timeout. Otherwise rivals that split the vote of a bare majority keep doing so.
  const redlock = { ttlMs, nodeTimeoutMs, waitTimeoutMs: ttlMs, retryDelayMaxMs: 1.5 * nodeTimeoutMs };
  const world = await startWorld(
    {
      ...{ ...options, nodes: names("n", options.nodes), serverArgs, clocks, proxied: true },
      orderOf: () => ({ redlock, clockAheadMs: 0, ignoresEpochs: false }),
    },
    cleanup,
  );
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
