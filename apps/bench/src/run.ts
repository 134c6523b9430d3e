import type { Cleanup } from "@holdfast/testkit/cleanup";
import { bundleProgram } from "./bundle.ts";
import { createCrew } from "./crew.ts";
import type { Step } from "./plan.ts";
import type { Turn } from "./record.ts";
import type { Scale } from "./scale.ts";
import { createServers } from "./servers.ts";

/** All contenders of a workload of one process have room, or one with eight. */
const processesMax = 16;

/**
 * Runs all steps, one after another. What goes wrong in one is recorded, and stops no other.
 *
 * @param steps what to run
 * @param scale how much of it
 * @param cleanup stops all that was started
 * @param signal ends the run early
 * @param onTurn is told of each step when it is over
 */
export async function run(
  steps: readonly Step[],
  scale: Scale,
  cleanup: Cleanup,
  signal: AbortSignal,
  onTurn: (turn: Turn, index: number) => void,
): Promise<Turn[]> {
  const crew = createCrew(await bundleProgram(cleanup), processesMax);
  cleanup.defer(() => crew.close());
  const servers = createServers(cleanup);
  const turns: Turn[] = [];
  const startMs = performance.now();
  for (const [index, { workload, case: one, contender, round }] of steps.entries()) {
    signal.throwIfAborted();
    if (round > 1 && performance.now() - startMs > scale.furtherRoundsMs) continue;
    await servers.first(one.nodes);
    const stage = {
      contender,
      scale,
      servers,
      prefix: `bench:${index}`,
      worker: (number: number) => crew.worker(contender, number),
    };
    const about = { workload: workload.name, case: one.name, contender: contender.name, round };
    const turn = await one.run(stage).then(
      (figures) => ({ ...about, figures }),
      (error: Error) => ({ ...about, error: error.message }),
    );
    turns.push(turn);
    onTurn(turn, index);
  }
  return turns;
}
