/** The Web Worker of the playground: receives a scenario, and sends its run. */
import { type Scenario, simulate, type Trace, type Violation } from "@holdfast/simulation";

/** What the worker receives. */
export interface PlayRequest {
  /** Comes back with the run, so that a page can ignore runs that it no longer wants. */
  readonly id: number;
  readonly scenario: Scenario;
}

/** A run as plain data. */
export interface PlayedRun {
  readonly trace: Trace;
  /** The violations that the checkers found, the earliest first. */
  readonly violations: readonly Violation[];
}

/** What the worker sends: a run, or a text that says why there is none. */
export type PlayReply = { readonly id: number } & ({ readonly run: PlayedRun } | { readonly error: string });

/** Simulates the scenario of a request. Never rejects. */
export async function play({ id, scenario }: PlayRequest): Promise<PlayReply> {
  try {
    const { trace, violations } = await simulate(scenario, { trace: true });
    if (trace === undefined) throw new Error("the run has no trace");
    return { id, run: { trace, violations } };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
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
