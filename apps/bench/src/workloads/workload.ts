import type { Contender } from "../contenders/contender.ts";
import type { Worker } from "../crew.ts";
import type { Figures, MeasureName } from "../measure/measures.ts";
import type { Scale } from "../scale.ts";
import type { Servers } from "../servers.ts";

/** Something that contenders are compared at. */
export interface Workload {
  /** What `--only` calls it. */
  readonly name: string;
  readonly title: string;
  /** What is done, and what to see. */
  readonly description: string;
  readonly contenders: readonly Contender[];
  /** Those whose figures the targets rest on. */
  readonly quickContenders: readonly string[];
  readonly cases: readonly Case[];
  /** What is told of it; the first is what contenders are sorted by. */
  readonly columns: readonly MeasureName[];
  /** How many rounds are enough, where more would tell nothing new. */
  readonly roundsMax?: number;
  /** Whether each case has a table of its own, or is a point on a curve over what the cases differ in. */
  readonly layout: "tables" | { readonly curveOver: string };
}

/** One way to run a workload. */
export interface Case {
  readonly name: string;
  /** How many servers hold the locks. */
  readonly nodes: number;
  /** How many processes of the contender take part. */
  readonly processes: number;
  readonly isQuick: boolean;
  /** Those of the workload's quick contenders who are needed here. All, where nothing is said. */
  readonly quickContenders?: readonly string[];
  /** Runs it once. */
  run(stage: Stage): Promise<Figures>;
}

/** What a run has at hand. */
export interface Stage {
  readonly contender: Contender;
  readonly scale: Scale;
  readonly servers: Servers;
  /** What the names of the keys begin with: nobody has used it before. */
  readonly prefix: string;
  /** The contender's process of this number. */
  worker(number: number): Worker;
}

/** How long a call may take beyond what it has to do, before its process is given up. */
export const patienceMs = 20_000;

/** What a process is connected to, and how. */
interface Surroundings {
  readonly nodes: number;
  readonly roundTripMs?: number;
  readonly isPatient?: boolean;
}

/** Connects a process to the first servers, has something done, and closes it, however that ends. */
export async function opened<T>(
  stage: Stage,
  { nodes, roundTripMs = 0, isPatient = false }: Surroundings,
  workers: readonly Worker[],
  act: () => Promise<T>,
): Promise<T> {
  const ports = await stage.servers.ports(nodes, roundTripMs);
  try {
    await Promise.all(
      workers.map((worker) => worker.call("open", { contender: stage.contender.name, ports, isPatient }, patienceMs)),
    );
    return await act();
  } catch (error) {
    for (const worker of workers) worker.kill(); // whatever state it is in
    throw error;
  } finally {
    const alive = workers.filter((worker) => worker.isAlive);
    await Promise.all(alive.map((worker) => worker.call("close", undefined, patienceMs).catch(() => worker.kill())));
  }
}
