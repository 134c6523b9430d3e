import { setTimeout as sleep } from "node:timers/promises";
import type { Dice } from "@holdfast/app-kit/dice";
import { startWorkerProcess, type WorkerProcess } from "@holdfast/app-kit/worker-process";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { Chronicler, Probe } from "./chronicle.ts";
import type { OperatorFunctions, OperatorOrder, Step } from "./operator-process.ts";
import { type Change, describeStage, type Stage } from "./stages.ts";
import { createTurns } from "./turns.ts";

/** The operator of a change: one process after another, since each is killed in the middle of its work. */
export interface Operator {
  /** Carries out a step. */
  step(change: Change, step: Step): Promise<void>;
  /** Carries out a step, after earlier operators were killed in the middle of it. */
  stepWithKills(change: Change, step: Step): Promise<void>;
  heal(stage: Stage, server: string): Promise<void>;
  /** Tries to lock as a client of a stage, and records whether it was served. */
  probe(stage: Stage, wanted: Probe["wanted"]): Promise<void>;
  /** Runs an action during which no step runs, or returns undefined if one runs at the moment. */
  unlessBusy<T>(action: () => Promise<T>): Promise<T> | undefined;
}

/** How long a step may take: it waits until the locks of older clients have ended. */
const patienceMs = 90_000;

/** How often the operator is killed during each step. */
const kills: Record<Step, number> = { begin: 1, join: 2, end: 1 };

/** How long after the start of a step it may be killed, in milliseconds. */
const killAfterMsMax: Record<Step, number> = { begin: 60, join: 2_000, end: 1_500 };

/** How often a step is repeated after a failure, such as that of a server that is down. */
const failuresMax = 10;

/** Makes an operator. */
export function createOperator(
  program: string,
  order: OperatorOrder,
  { dice, recorder, cleanup }: { dice: Dice; recorder: Chronicler; cleanup: Cleanup },
): Operator {
  const launch = async (): Promise<WorkerProcess<OperatorFunctions>> => {
    const process = startWorkerProcess<OperatorFunctions>(program, { name: "the operator" });
    cleanup.defer(process.stop);
    await process.call("open", patienceMs, order);
    return process;
  };
  const crew = { launch, recorder };
  const turns = createTurns();
  let isBusy = false;
  const inTurn = <T>(action: () => Promise<T>): Promise<T> => {
    isBusy = true;
    return turns(async () => {
      isBusy = true;
      return action();
    }).finally(() => {
      isBusy = false;
    });
  };
  return {
    step: (change, step) => inTurn(() => carryOut(crew, step, stepOf(change, step))),
    stepWithKills: (change, step) =>
      inTurn(() =>
        recorder.duringStep(step, async () => {
          await beginAndDie(crew, dice, step, stepOf(change, step));
          await carryOut(crew, step, stepOf(change, step));
        }),
      ),
    heal: (stage, server) =>
      carryOut(crew, `heal of ${server}`, (process) => process.call("heal", patienceMs, stage, server)),
    unlessBusy: (action) => (isBusy ? undefined : inTurn(action)),
    async probe(stage, wanted) {
      const process = await launch();
      const error = await process.call("probe", patienceMs, stage);
      await process.stop();
      recorder.probed({ what: `a client of ${describeStage(stage)}`, wanted, error });
    },
  };
}

type Process = WorkerProcess<OperatorFunctions>;

/** Starts operators, and records what becomes of them. */
interface Operators {
  readonly recorder: Chronicler;
  launch(): Promise<Process>;
}

function stepOf(change: Change, step: Step): (process: Process) => Promise<unknown> {
  return (process) => process.call("step", patienceMs, change, step);
}

/** Lets operators begin a step, and kills them in the middle of it. */
async function beginAndDie(
  { launch, recorder }: Operators,
  dice: Dice,
  step: Step,
  action: (process: Process) => Promise<unknown>,
): Promise<void> {
  for (let count = 0; count < kills[step]; count++) {
    const process = await launch();
    const isDone = action(process).then(
      () => true,
      () => false,
    );
    await Promise.race([sleep(dice.integer(0, killAfterMsMax[step])), isDone]);
    await process.stop();
    if (!(await isDone)) recorder.note(`the operator is killed during ${step}`);
  }
}

/** Lets an operator do something, and another one repeat it if it fails, such as when a server is down. */
async function carryOut(
  { launch, recorder }: Operators,
  what: string,
  action: (process: Process) => Promise<unknown>,
): Promise<void> {
  for (let failures = 0; ; failures++) {
    const process = await launch();
    try {
      await action(process);
      return;
    } catch (error) {
      if (failures === failuresMax) throw error;
      recorder.note(`${what} fails, and is repeated: ${(error as Error).message}`);
      await sleep(500);
    } finally {
      await process.stop();
    }
  }
}
