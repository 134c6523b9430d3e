import { setTimeout as sleep } from "node:timers/promises";
import type { Dice } from "@holdfast/app-kit/dice";
import { startWorkerProcess, type WorkerProcess } from "@holdfast/app-kit/worker-process";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { type Change, describeStage, type Stage } from "../world/stages.ts";
import { createTurns } from "../world/turns.ts";
import type { Chronicle, Probe } from "./chronicle.ts";
import type { OperatorFunctions, OperatorOrder, Step } from "./operator-process.ts";

const program = new URL("./operator-process.ts", import.meta.url);

/** How long a step may take: it waits until the locks of older clients have ended. */
const patienceMs = 90_000;

/** How often the operator is killed during each step, and how long after its start at most, in milliseconds. */
const kills: Record<Step, { readonly times: number; readonly afterMaxMs: number }> = {
  begin: { times: 1, afterMaxMs: 60 },
  join: { times: 2, afterMaxMs: 2_000 },
  end: { times: 1, afterMaxMs: 1_500 },
};

/** How often a step is repeated after a failure, such as that of a server that is down. */
const failuresMax = 10;

/** Makes the operator of a change: one process after another, since each is killed in the middle of its work. */
export async function createOperator(
  order: OperatorOrder,
  { dice, chronicle, cleanup }: { dice: Dice; chronicle: Chronicle; cleanup: Cleanup },
) {
  const bundle = await bundleProgram(program);
  const launch = (): WorkerProcess<OperatorFunctions> => {
    const process = startWorkerProcess<OperatorFunctions>(bundle, { name: "the operator" });
    cleanup.defer(process.stop);
    return process;
  };
  /** Lets an operator do something, and another one repeat it if it fails, such as when a server is down. */
  const carryOut = async (what: string, action: (process: Process) => Promise<unknown>): Promise<void> => {
    for (let failures = 0; ; failures++) {
      const process = launch();
      try {
        await action(process);
        return;
      } catch (error) {
        if (failures === failuresMax) throw error;
        chronicle.note(`${what} fails, and is repeated: ${(error as Error).message}`);
        await sleep(500);
      } finally {
        await process.stop();
      }
    }
  };
  /** Lets operators begin a step, and kills them in the middle of it. */
  const beginAndDie = async (step: Step, action: (process: Process) => Promise<unknown>): Promise<void> => {
    const { times, afterMaxMs } = kills[step];
    for (let count = 0; count < times; count++) {
      const process = launch();
      const isDone = action(process).then(
        () => true,
        () => false,
      );
      await Promise.race([sleep(dice.integer(0, afterMaxMs)), isDone]);
      await process.stop();
      if (!(await isDone)) chronicle.note(`the operator is killed during ${step}`);
    }
  };
  const turns = createTurns();
  return {
    /** Carries out a step, by default after earlier operators were killed in the middle of it. */
    step: (change: Change, step: Step, isKilled = true) =>
      turns(async () => {
        const action = (process: Process) => process.call("step", patienceMs, order, change, step);
        if (isKilled) await beginAndDie(step, action);
        await carryOut(step, action);
      }),
    heal: (stage: Stage, server: string) =>
      carryOut(`heal of ${server}`, (process) => process.call("heal", patienceMs, order, stage, server)),
    /** Runs an action during which no step runs, or returns undefined if one runs at the moment. */
    unlessBusy: <T>(action: () => Promise<T>) => (turns.isIdle() ? turns(action) : undefined),
    /** Tries to lock as a client of a stage, and records whether it was served. */
    async probe(stage: Stage, wanted: Probe["wanted"]): Promise<void> {
      const process = launch();
      const error = await process.call("probe", patienceMs, order, stage);
      await process.stop();
      chronicle.probes.push({ what: `a client of ${describeStage(stage)}`, wanted, error });
    },
  };
}

type Process = WorkerProcess<OperatorFunctions>;
