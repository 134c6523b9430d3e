import type { Contender } from "../contenders/contender.ts";
import type { Figures, MeasureName } from "../measure/measures.ts";
import type { MeasuredProcess } from "../process-pool.ts";
import type { Scale } from "../scale.ts";
import type { Servers } from "../servers.ts";

/** Some work that contenders are compared at. */
export interface Workload {
  /** Its name for `--only`. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly contenders: readonly Contender[];
  /** The contenders of quick runs. */
  readonly quickContenders: readonly string[];
  readonly cells: readonly Cell[];
  /** What its tables show; contenders are sorted by the first. */
  readonly columns: readonly [MeasureName, ...MeasureName[]];
  /** How many rounds are enough. Default: those of the scale. */
  readonly roundsMax?: number;
  /** Whether other load on the machine cannot change its figures. */
  readonly ignoresLoad?: boolean;
  /** About how long a slice takes, with all that goes before and after it. */
  estimateMs(scale: Scale): number;
  /** Why it cannot run on this machine, if so. */
  whyNot?(): Promise<string | undefined>;
}

/** One setting of a workload: so many servers, so many at a time. */
export interface Cell {
  readonly name: string;
  readonly servers: number;
  /** How many locks are asked for at a time, by all processes together. */
  readonly atATime: number;
  /** How long the network takes there and back; 0 without one. */
  readonly roundTripMs?: number;
  /** How many processes of the contender take part. */
  readonly processes: number;
  readonly isQuick: boolean;
  /** Measures one slice. */
  measure(context: SliceContext): Promise<Figures>;
}

/** What a slice works with. */
export interface SliceContext {
  readonly contender: Contender;
  readonly scale: Scale;
  readonly servers: Servers;
  /** The start of all keys, used for the first time. */
  readonly keyPrefix: string;
  /** The contender's process of this number. */
  process(number: number): MeasuredProcess;
}

/** How long a call may take beyond its work, before its process is killed. */
export const callTimeoutMs = 20_000;

interface Connection {
  readonly servers: number;
  readonly roundTripMs?: number;
  readonly isPatient?: boolean;
}

/** Connects processes to the first servers, acts, and closes them, however that ends. */
export async function withOpen<T>(
  context: SliceContext,
  { servers, roundTripMs, isPatient = false }: Connection,
  processes: readonly MeasuredProcess[],
  act: () => Promise<T>,
): Promise<T> {
  const ports = await context.servers.ports(servers, roundTripMs);
  const request = { contender: context.contender.name, ports, isPatient };
  try {
    await Promise.all(processes.map((process) => process.call("open", callTimeoutMs, request)));
    return await act();
  } catch (error) {
    for (const process of processes) process.kill(); // its state is unknown
    throw error;
  } finally {
    const alive = processes.filter((process) => process.isAlive);
    await Promise.all(alive.map((process) => process.call("close", callTimeoutMs).catch(() => process.kill())));
  }
}

/** `"1 server"`, `"3 servers"`. */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}
