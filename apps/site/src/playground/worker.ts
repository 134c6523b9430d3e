/** The Web Worker of the playground: receives an address, and sends its run. */
import { describeFault, type Fault, simulate, type Trace, type Violation } from "@holdfast/simulation";
import type { Address } from "./address.ts";
import { scenarioOf, toolsOf } from "./scenario-of.ts";

/** What the worker receives. */
export interface PlayRequest extends Pick<Address, "subject" | "faults"> {
  /** Comes back with the run, so that a page can ignore runs that it no longer wants. */
  readonly id: number;
}

/** A run as plain data. */
export interface PlayedRun {
  readonly trace: Trace;
  /** The violations that the checkers found, the earliest first. */
  readonly violations: readonly Violation[];
  /** The faults of the scenario, in words. Those that the reader has added are the last ones. */
  readonly faults: readonly FaultInWords[];
  /** The ttl of the clients' locks, in milliseconds. */
  readonly ttlMs: number;
}

/** A fault in words. */
export interface FaultInWords {
  readonly kind: Fault["kind"];
  /** When it strikes; undefined if it depends on a message, or lasts from the start. */
  readonly atMs: number | undefined;
  readonly what: string;
}

/** What the worker sends: a run, or a text that says why there is none. */
export type PlayReply = { readonly id: number } & ({ readonly run: PlayedRun } | { readonly error: string });

/** Simulates the scenario of a request. Never rejects. */
export async function play({ id, ...address }: PlayRequest): Promise<PlayReply> {
  try {
    const scenario = await scenarioOf(address);
    const { trace, violations } = await simulate(scenario, { trace: true, tools: await toolsOf(address.subject) });
    if (trace === undefined) throw new Error("the run has no trace");
    const faults = (scenario.faults ?? []).map(inWords);
    return { id, run: { trace, violations, faults, ttlMs: scenario.settings?.ttlMs ?? defaultTtlMs } };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}

const defaultTtlMs = 1000;

function inWords(fault: Fault): FaultInWords {
  return { kind: fault.kind, atMs: "atMs" in fault ? fault.atMs : undefined, what: describeFault(fault) };
}

/** The part of a worker's global object that it needs. */
interface WorkerScope {
  onmessage: ((event: { readonly data: PlayRequest }) => void) | null;
  postMessage(reply: PlayReply): void;
}

/** Answers the requests that a worker receives. */
export function serve(scope: WorkerScope): void {
  scope.onmessage = ({ data }) => void play(data).then((reply) => scope.postMessage(reply));
}

if (typeof document === "undefined" && "postMessage" in globalThis) serve(globalThis as unknown as WorkerScope);
