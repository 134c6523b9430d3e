import type { Contender } from "../contenders/contender.ts";
import type { Figures, MeasureName } from "../measure/measures.ts";
import type { MeasuredProcess } from "../process-pool.ts";
import type { Scale } from "../scale.ts";
import type { Place, Servers } from "../servers.ts";
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
  /** The contender to which tables have ratios. Default: the best peer. */
  readonly against?: string;
  /** The most rounds. Default: those of the scale. */
  readonly roundsMax?: number;
  /** Whether its processes are new in each slice. */
  readonly isCold?: boolean;
  /** Whether its figures do not depend on other load. */
  readonly ignoresLoad?: boolean;
  /** Estimates the duration of a slice, without starting a process. */
  estimateMs(scale: Scale): number;
}

/** A setting of a workload: the number of servers, of locks at a time, and so on. */
export interface Cell {
  readonly name: string;
  readonly servers: number;
  /** The locks requested at a time, by all processes together. */
  readonly atATime: number;
  /** The round trip of the network; 0 without one. */
  readonly roundTripMs?: number;
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
  /** The contender's process of this number in the cell. */
  process(number: number): MeasuredProcess;
}

/** How long a call may take beyond its work before the process is killed. */
export const callTimeoutMs = 20_000;

/** Connects processes, which stay connected. */
export async function open(
  { contender }: Pick<SliceContext, "contender">,
  { addresses }: Pick<Place, "addresses">,
  processes: readonly MeasuredProcess[],
  isPatient = false,
): Promise<void> {
  const request = { contender: contender.name, addresses, isPatient };
  await Promise.all(processes.map((process) => process.call("open", callTimeoutMs, request)));
}

/**
 * Connects processes and warms them up without a delay, unless they are warm. They keep their one client for all slices of a
 * cell, as those of an application do: with a second one, V8 may discard the code that it optimised for the first.
 */
export async function prepare(
  context: Pick<SliceContext, "contender" | "scale">,
  place: Omit<Place, "watch">,
  processes: readonly MeasuredProcess[],
  work: (durationMs: number) => Promise<unknown>,
): Promise<Pick<Figures, "networkMs">> {
  const fresh = processes.filter(({ isWarm }) => !isWarm);
  if (fresh.length > 0) {
    await open(context, place, fresh);
    await place.delay?.(false);
    await work(context.scale.warmUpMs);
    for (const process of fresh) process.isWarm = true;
  }
  return place.delay === undefined ? {} : { networkMs: await place.delay(true) };
}

/** `"1 server"`, `"3 servers"`. */
export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}
