/** `pnpm demo`: see README.md. */
import { setTimeout as sleep } from "node:timers/promises";
import { runProgram } from "@holdfast/app-kit/program";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import { parseCommand, resources, type Setup } from "./options.ts";
import { opening, play } from "./play.ts";
import { Run, type Visit } from "./run.ts";
import { verdictOf } from "./verdict.ts";
import { forOutput, liveView, plainView, summary } from "./view.ts";
import { memoryWorld, type World } from "./world.ts";

/** How much longer than planned each part of a run may take before it is cut short. */
const overtimeMs = 15_000;
const drawMs = 100;
const lookMs = 100;

const { stdout } = process;
await runProgram("demo", parseCommand(process.argv.slice(2)), runDemo);

/** Runs the demo. Resolves with whether every check holds. Rejects if the signal aborts. */
async function runDemo(setup: Setup, cleanup: Cleanup, signal: AbortSignal): Promise<boolean> {
  const print = (line: string): void => void stdout.write(forOutput(`${line}\n`));
  const isRoomy = stdout.columns >= 76 && stdout.rows >= 20;
  const view = stdout.isTTY && isRoomy ? liveView(stdout) : plainView(stdout);
  cleanup.defer(view.close);
  if (setup.redis) print(" Starting six redis-servers and the worker processes …");
  const run = new Run(setup);
  const worldOf = setup.redis ? (await import("./redis-world.ts")).redisWorld : memoryWorld;
  const world = await worldOf(setup, (visit: Visit) => run.hear(visit), cleanup);
  const drawing = setInterval(() => view.show(run), drawMs);
  cleanup.defer(() => clearInterval(drawing));
  await playAndFinish(world, run, signal);
  clearInterval(drawing);
  view.show(run);
  view.close();
  signal.throwIfAborted();
  const checks = verdictOf(run);
  for (const line of summary(run, checks)) print(line);
  return checks.every(([, holds]) => holds);
}

/** Plays the story while the workers contend. */
async function playAndFinish(world: World, run: Run, signal: AbortSignal): Promise<void> {
  const { contenders, sleeper } = world;
  // A failure is part of the verdict and does not end the run.
  const attempt = async (work: Promise<unknown>, timeoutMs = overtimeMs): Promise<void> => {
    const late = sleep(timeoutMs, undefined, { ref: false }).then(() => {
      throw new Error(`an act did not end within ${timeoutMs / 1000} s`);
    });
    try {
      await Promise.race([work, late]);
    } catch (error) {
      signal.throwIfAborted();
      run.fail(error as Error);
    }
  };
  run.beganAtMs = monotonicMs();
  run.say(opening(run.setup));
  let isOver = false;
  const watch = async (): Promise<void> => {
    for (; !isOver && !signal.aborted; await sleep(lookMs)) await look(world, run);
  };
  const watching = watch().catch((error: Error) => run.fail(error));
  const working = Array.from(contenders, ([name, worker]) =>
    worker.contend().then(
      () => run.finished.add(name),
      (error: Error) => run.fail(error, name),
    ),
  );
  await attempt(play(world, run, signal), run.setup.seconds * 1000 + overtimeMs);
  const finishing = [...contenders.values(), sleeper].map((worker) => worker.finish());
  await attempt(Promise.allSettled(finishing).then(() => Promise.all(working)));
  isOver = true;
  await watching;
  await attempt(look(world, run));
}

/** Inspects all resources once: holder, remaining time, and counter. */
async function look({ redlock, database }: World, run: Run): Promise<void> {
  await Promise.all(
    resources.map(async ({ name }) => {
      const increments = run.increments(name); // before the read: later ones need not show
      const [inspection, value] = await Promise.all([redlock.inspect(name), database.read(name)]);
      run.samples.set(name, { ...inspection, value, lost: Math.max(0, increments - value) });
    }),
  );
}
