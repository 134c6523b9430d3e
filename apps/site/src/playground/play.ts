/** Simulates what an address names. */
import {
  describeFault,
  type Fault,
  simulate,
  type TimelineLine,
  type Trace,
  timelineLines,
  type Violation,
} from "@holdfast/simulation";
import type { Address, Subject } from "./address.ts";
import { type Caption, captionsOf } from "./captions.ts";
import { scenarioOf } from "./scenario-of.ts";
import { type ShortNames, shortNames, shownLines } from "./short-names.ts";

/** What to simulate. */
export type PlayRequest = Pick<Address, "subject" | "faults">;

/** A run as plain data. */
export interface PlayedRun {
  readonly trace: Trace;
  /** The violations that the checkers found, the earliest first. */
  readonly violations: readonly Violation[];
  /** The faults of the scenario, in words. Those that the reader has added are the last ones. */
  readonly faults: readonly FaultInWords[];
  /** The ttl of the clients' locks, in milliseconds. */
  readonly ttlMs: number;
  /** The run in sentences: what happens, and why it matters. */
  readonly captions: readonly Caption[];
  /** The events in words. Requests to several nodes at once are one line, and so are their equal replies. */
  readonly lines: readonly TimelineLine[];
}

/** A fault in words. */
export interface FaultInWords {
  readonly kind: Fault["kind"];
  /** When it strikes; undefined if it depends on a message, or lasts from the start. */
  readonly atMs: number | undefined;
  readonly what: string;
}

/** A run, or a text that says why there is none. */
export type PlayReply = { readonly run: PlayedRun } | { readonly error: string };

/** Simulates the scenario of an address. Never rejects. */
export async function play(address: PlayRequest): Promise<PlayReply> {
  try {
    const scenario = await scenarioOf(address);
    const run = await simulate(scenario, { trace: true });
    if (run.trace === undefined) throw new Error("the run has no trace");
    const { trace, inWords } = namesFor(address.subject, run.trace);
    const faults = (scenario.faults ?? []).map(faultInWords);
    const violations = run.violations.map((violation) => ({ ...violation, what: inWords(violation.what) }));
    const events = trace.events.filter(({ atMs }) => atMs <= trace.endedAtMs);
    const lines = shownLines(timelineLines(events), trace).map((line) => ({ ...line, what: inWords(line.what) }));
    const ttlMs = scenario.settings?.ttlMs ?? defaultTtlMs;
    return { run: { trace, violations, faults, ttlMs, captions: captionsOf(trace), lines } };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

const defaultTtlMs = 1000;

/** A seed keeps the names that `pnpm simulate` prints. */
function namesFor({ kind }: Subject, trace: Trace): ShortNames {
  return kind === "seed" ? { trace, inWords: (text) => text } : shortNames(trace);
}

function faultInWords(fault: Fault): FaultInWords {
  return { kind: fault.kind, atMs: "atMs" in fault ? fault.atMs : undefined, what: describeFault(fault) };
}
