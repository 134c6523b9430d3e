import type { Worker } from "../crew.ts";
import type { Figures } from "../measure/measures.ts";
import { jainOf, quantileOf } from "../measure/statistics.ts";
import type { ContendOutcome } from "../process/calls.ts";
import type { ServerUsage } from "../servers.ts";
import { opened, patienceMs, type Stage } from "./workload.ts";

/** Who contends for one key. */
export interface ContestSetting {
  readonly nodes: number;
  readonly processes: number;
  /** In each process. */
  readonly workers: number;
}

/** About what a short transaction takes. */
const holdMs = 1;

/** Lets the workers of several processes contend for one key. */
export async function runContest(stage: Stage, { nodes, processes, workers }: ContestSetting): Promise<Figures> {
  const { scale, prefix, servers } = stage;
  const crew = Array.from({ length: processes }, (_, number) => stage.worker(number));
  await servers.empty(nodes);
  return opened(stage, { nodes }, crew, async () => {
    await warmUpTogether(stage, crew, workers);
    const watch = await servers.watch(nodes);
    const outcomes = await contend(crew, prefix, workers, scale.contestMs);
    const usage = await watch();
    if (outcomes.some(({ stuck }) => stuck > 0)) for (const worker of crew) worker.kill();
    return figuresOf(outcomes, nodes, usage);
  });
}

/** Lets processes contend for another key until they are fast. In one go, as at the end all have to have their turn. */
export async function warmUpTogether(
  { scale, prefix }: Stage,
  crew: readonly Worker[],
  workers: number,
): Promise<void> {
  const isNew = crew.some(({ skills }) => !skills.has("contend"));
  if (!isNew) return;
  await contend(crew, `${prefix}:warm-up`, workers, scale.heatMsMin);
  for (const { skills } of crew) skills.add("contend");
}

function contend(crew: readonly Worker[], key: string, workers: number, durationMs: number): Promise<ContendOutcome[]> {
  const request = { key, workers, holdMs, durationMs };
  return Promise.all(crew.map((worker) => worker.call("contend", request, durationMs + patienceMs)));
}

function figuresOf(outcomes: readonly ContendOutcome[], nodes: number, usage: ServerUsage): Figures {
  const sum = (of: (outcome: ContendOutcome) => number): number => outcomes.reduce((all, one) => all + of(one), 0);
  const waitsMs = Float64Array.from(outcomes.flatMap((outcome) => outcome.waitsMs)).sort();
  const shares = outcomes.map(({ locks }) => locks.reduce((all, one) => all + one, 0));
  const settled = sum(({ settledLocks }) => settledLocks);
  return {
    locksPerSecond: sum(({ locks, seconds }) => locks.reduce((all, one) => all + one, 0) / seconds),
    waitP50Ms: quantileOf(waitsMs, 0.5),
    waitP99Ms: quantileOf(waitsMs, 0.99),
    waitMaxMs: waitsMs.at(-1) ?? Number.NaN,
    failed: sum(({ failed }) => failed),
    jainWorkers: jainOf(outcomes.flatMap(({ locks }) => locks)),
    ...(outcomes.length > 1 && { jainProcesses: jainOf(shares) }),
    ...(settled > 0 && {
      commandsPerNode: sum(({ commands }) => commands) / settled / nodes,
      clientCpuUs: sum(({ cpuUs }) => cpuUs) / settled,
      serverCpuUs: usage.cpuUs / settled,
      bytesPerLock: usage.bytes / settled,
    }),
  };
}
