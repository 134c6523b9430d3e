/** What a run prints while it goes on. */
import { measureNamed } from "./measure/measures.ts";
import type { Step } from "./plan.ts";
import type { Turn } from "./record.ts";
import { valueText } from "./report/text.ts";

/** What stands above the lines of {@link lineOf}. */
export function headOf(steps: readonly Step[]): string {
  const workloads = new Set(steps.map(({ workload }) => workload.title));
  const rounds = Math.max(...steps.map(({ round }) => round));
  return `Up to ${steps.length} turns in ${rounds} rounds: ${[...workloads].join("; ")}.`;
}

/** One turn. */
export function lineOf({ workload, contender, round }: Step, turn: Turn, elapsedMs: number): string {
  const [first] = workload.columns;
  const value = first && turn.figures?.[first];
  const text =
    first === undefined || value === undefined
      ? (turn.error ?? "nothing measured")
      : `${valueText(value, measureNamed(first))} ${unitOf(measureNamed(first).title)}`;
  const stuck = turn.figures?.stuck ? ", stuck" : "";
  const place = `${workload.name}, ${turn.case}`;
  return `${clock(elapsedMs)}  ${round}  ${place.padEnd(46)}  ${contender.name.padEnd(37)}  ${text}${stuck}`;
}

/** `p50` after a time would be read as a unit. */
function unitOf(title: string): string {
  return /p\d\d/.test(title) ? `(${title})` : title;
}

function clock(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  return `${String(Math.floor(seconds / 60)).padStart(3)}:${String(seconds % 60).padStart(2, "0")}`;
}
