import { writeFiles } from "@holdfast/app-kit/report";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import { attack } from "./attack/attack.ts";
import { judge, type Result } from "./judge.ts";
import { names } from "./names.ts";
import type { ChaosOptions } from "./options.ts";
import { headOf, lineOf, summaryOf } from "./report/lines.ts";
import { markdownOf } from "./report/markdown.ts";
import { scheduleOf } from "./schedule.ts";
import { startWorld } from "./world/world.ts";

/** No persistence, and the settings that `loading` needs. */
const serverArgs: readonly string[] = [
  ...["--enable-debug-command", "local"],
  ...["--rdbcompression", "no", "--loading-process-events-interval-bytes", "1024"],
];

/** Starts a world, attacks it as scheduled, and resolves with whether nothing was violated. */
export async function run(options: ChaosOptions, cleanup: Cleanup, signal: AbortSignal): Promise<boolean> {
  const { ttlMs } = options;
  const clocks = options.nemeses.some((nemesis) => nemesis.clocks);
  const nodeTimeoutMs = Math.ceil(ttlMs * 0.15);
  // The delay is longer than the node timeout. Otherwise rivals that split the vote of a bare majority keep doing so.
  const redlock = { ttlMs, nodeTimeoutMs, waitTimeoutMs: ttlMs, retryDelayMaxMs: 1.5 * nodeTimeoutMs };
  const world = await startWorld(
    {
      ...{ ...options, nodes: names("n", options.nodes), serverArgs, clocks, proxied: true },
      orderOf: () => ({ redlock }),
    },
    cleanup,
  );
  console.log(headOf(options));
  const results: Result[] = [];
  const startMs = monotonicMs();
  for (const slice of scheduleOf(options)) {
    signal.throwIfAborted();
    const atMs = monotonicMs() - startMs;
    const history = await attack(world, slice, options, signal);
    const result = { slice, history, findings: judge(slice.nemesis, history), atMs };
    console.log(lineOf(result));
    results.push(result);
  }
  console.log(summaryOf(options, results));
  if (options.report !== undefined) {
    const files = new Map([["README.md", markdownOf(options, results)]]);
    console.log(`The report is ${await writeFiles(options.report, files)}.`);
  }
  return results.every(({ findings }) => findings.violations.length === 0);
}
