import type { Address } from "@holdfast/app-kit/clients";
import type { Contender } from "../contenders/contender.ts";
import type { Figures, MeasureName } from "../measure/measures.ts";
import type { MeasuredProcess } from "../process-pool.ts";
import type { Scale } from "../scale.ts";
import type { Servers } from "../servers.ts";
import type { Stores } from "../stores.ts";

/** A workload, for which contenders are compared. */
export interface Workload {
  /** Its name for `--only`. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly contenders: readonly Contender[];
  /** The contenders of quick runs. */
  readonly quickContenders: readonly string[];
  readonly cells: readonly Cell[];
  /** The columns of its tables. Contenders are sorted by the first. */
  readonly columns: readonly [MeasureName, ...MeasureName[]];
  /** The most rounds. Default: those of the scale. */
  readonly roundsMax?: number;
  /** Whether its figures do not depend on other load. */
  readonly ignoresLoad?: boolean;
  /** Estimates the duration of a slice, with preparation and clean-up. */
  estimateMs(scale: Scale): number;
  /** Resolves with the reason if it cannot run on this machine. */
  whyNot?(): Promise<string | undefined>;
}

/** A setting of a workload: the number of servers, of locks at a time, and so on. */
export interface Cell {
  readonly name: string;
  readonly servers: number;
  /** The locks requested at a time, by all processes together. */
  readonly atATime: number;
  /** The round trip of the network; 0 without one. */
  readonly roundTripMs?: number;
  /** The number of processes of the contender. */
  readonly processes: number;
  readonly isQuick: boolean;
  /** Measures one slice. */
  measure(context: SliceContext): Promise<Figures>;
}

/** The context of a slice. */
export interface SliceContext {
  readonly contender: Contender;
  readonly scale: Scale;
  readonly servers: Servers;
  readonly stores: Stores;
  /** A unique prefix for all keys. */
  readonly keyPrefix: string;
  /** The contender's process of this number. */
  process(number: number): MeasuredProcess;
}

/** How long a call may take beyond its work before the process is killed. */
export const callTimeoutMs = 20_000;

interface Connection {
  readonly servers: number;
  readonly roundTripMs?: number;
  readonly isPatient?: boolean;
}

/** Connects processes to the first servers, runs `act`, and closes the connections, however it ends. */
export async function withOpen<T>(
  context: SliceContext,
  { servers, roundTripMs, isPatient = false }: Connection,
  processes: readonly MeasuredProcess[],
  act: () => Promise<T>,
): Promise<T> {
  return withOpenAt(context, await context.servers.ports(servers, roundTripMs), processes, act, isPatient);
}

/** The same for any addresses. */
export async function withOpenAt<T>(
  { contender }: Pick<SliceContext, "contender">,
  addresses: readonly Address[],
  processes: readonly MeasuredProcess[],
  act: () => Promise<T>,
  isPatient = false,
): Promise<T> {
  const request = { contender: contender.name, addresses, isPatient };
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
