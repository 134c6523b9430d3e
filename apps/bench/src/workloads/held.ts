import { uncontended as contenders } from "../contenders/index.ts";
import type { Figures } from "../measure/measures.ts";
import { opened, patienceMs, type Stage, type Workload } from "./workload.ts";

const nodes = 5;

export const held: Workload = {
  name: "held",
  title: "Many locks held at once",
  description: "One process holds ten thousand locks at once on five nodes (two thousand in a quick run).",
  contenders: contenders.filter(({ settings }) => settings.awaitsRelease),
  quickContenders: ["holdfast/ioredis", "redlock 5 beta", "raw ioredis"],
  cases: [{ name: "5 nodes", nodes, processes: 1, isQuick: true, run: runHeld }],
  columns: ["heapPerLockBytes", "timersPerHeldLock"],
  roundsMax: 2,
  layout: "tables",
};

async function runHeld(stage: Stage): Promise<Figures> {
  const worker = stage.worker(1); // not the one whose speed is measured: this one ends with all that it holds
  await stage.servers.empty(nodes);
  return opened(stage, { nodes, isPatient: true }, [worker], async () => {
    const request = { prefix: stage.prefix, locks: stage.scale.heldLocks };
    const { heapBytes, timers } = await worker.call("hold", request, 2 * patienceMs);
    worker.kill();
    return { heapPerLockBytes: heapBytes, timersPerHeldLock: timers };
  });
}
