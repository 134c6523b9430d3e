import { GCProfiler } from "node:v8";
import type { Usage } from "../process/calls.ts";

/**
 * Begins to watch what this process uses, and answers what ends it.
 *
 * V8 does not tell how much was ever allocated. But it tells how large the heap is before and after each collection, so
 * that what was allocated is what the heap grew by between collections. Memory outside of the heap, such as buffers', is
 * not in it.
 */
export function watchUsage(): () => Usage {
  const profiler = new GCProfiler();
  profiler.start();
  const heapBytes = process.memoryUsage().heapUsed;
  const cpu = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    let allocatedBytes = 0;
    let lastBytes = heapBytes;
    for (const { beforeGC, afterGC } of profiler.stop()?.statistics ?? []) {
      allocatedBytes += beforeGC.heapStatistics.usedHeapSize - lastBytes;
      lastBytes = afterGC.heapStatistics.usedHeapSize;
    }
    allocatedBytes += process.memoryUsage().heapUsed - lastBytes;
    return { cpuUs: user + system, allocatedBytes };
  };
}
