import type { Figures } from "../measure/measures.ts";
import type { CycleOutcome } from "../process/calls.ts";
import type { ServerUsage } from "../servers.ts";
import { warmUp } from "./warm-up.ts";
import { opened, patienceMs, type Stage } from "./workload.ts";

/** How a contender is to acquire and release at full speed. */
export interface CycleSetting {
  readonly nodes: number;
  readonly workers: number;
  readonly keysPerLock?: number;
  /** How long the network takes there and back. Default 0: none. */
  readonly roundTripMs?: number;
  /** What befalls servers before the measurement, and how it is undone. */
  readonly fault?: (stage: Stage) => Promise<() => Promise<void>>;
}

/** Acquires and releases at full speed, in one process, after a warm-up. */
export async function runCycle(stage: Stage, setting: CycleSetting): Promise<Figures> {
  const { scale, prefix, servers } = stage;
  const { nodes, workers, keysPerLock = 1, fault } = setting;
  const worker = stage.worker(0);
  const cycle = (name: string, durationMs: number): Promise<CycleOutcome> =>
    worker.call("cycle", { prefix: `${prefix}:${name}`, workers, keysPerLock, durationMs }, durationMs + patienceMs);
  await servers.empty(nodes);
  return opened(stage, setting, [worker], async () => {
    await warmUp([worker], `${workers} at a time, keys: ${keysPerLock}`, scale, async (durationMs) => {
      const { locks, cpuUs } = await cycle("warm-up", durationMs);
      return locks / cpuUs;
    });
    const heal = await fault?.(stage);
    try {
      // A server that is hung does not tell what it has used.
      const watch = fault === undefined ? await servers.watch(nodes) : undefined;
      const outcome = await cycle("measured", scale.turnMs);
      if (outcome.stuck > 0) worker.kill();
      return figuresOf(outcome, await watch?.());
    } finally {
      await heal?.();
    }
  });
}

function figuresOf(outcome: CycleOutcome, usage: ServerUsage | undefined): Figures {
  const { locks, seconds, failed, stuck, acquireMs, pairMs, cpuUs, allocatedBytes } = outcome;
  const figures: Figures = {
    opsPerSecond: locks / seconds,
    acquireP50Ms: acquireMs.p50,
    acquireP99Ms: acquireMs.p99,
    failed,
    stuck,
  };
  if (locks === 0) return figures;
  return {
    ...figures,
    pairP50Ms: pairMs.p50,
    pairP99Ms: pairMs.p99,
    clientCpuUs: cpuUs / locks,
    allocatedBytes: allocatedBytes / locks,
    ...(usage && { serverCpuUs: usage.cpuUs / locks, bytesPerLock: usage.bytes / locks }),
  };
}
