import type { Contender } from "../contenders/contender.ts";
import { type MeasureName, measureNamed } from "../measure/measures.ts";
import type { Place, Spot, Summary } from "./summary.ts";
import { ratioText, tableText, valueText } from "./text.ts";

/** Something that is to be reached. */
interface Target extends Place {
  readonly title: string;
  /** Which of ours it is about. */
  readonly ours: readonly string[];
  readonly measure: MeasureName;
  readonly atLeast?: number;
  readonly atMost?: number;
  /** What the value is divided by. Itself, where nothing is said. */
  readonly against?: Base;
}

/** The best peer's value, that of a contender, ours in another case, or a number. */
type Base = "best peer" | { readonly contender: string } | { readonly case: string } | { readonly number: number };

/** How far one of ours has come. */
export interface Finding {
  readonly title: string;
  readonly contender: string;
  readonly wanted: string;
  /** What was measured; undefined where it was not. */
  readonly measured: string | undefined;
  /** What it was compared with. */
  readonly against: string;
  /** The same against the best tuned peer, which is told and not judged. */
  readonly tuned: string;
  readonly isReached: boolean | undefined;
}

const both = ["holdfast/ioredis", "holdfast/node-redis"];
const ioredis = ["holdfast/ioredis"];
const one = "1 process × 50 workers";
const five = "5 processes × 10 workers";
const eight = "8 processes × 10 workers";

const targets: readonly Target[] = [
  ...cycle(1, [
    { ours: ioredis, measure: "opsPerSecond", against: { contender: "raw ioredis" }, atLeast: 0.95 },
    {
      ours: ["holdfast/ioredis, release not awaited"],
      measure: "opsPerSecond",
      against: { contender: "raw ioredis" },
      atLeast: 1.4,
    },
  ]),
  ...cycle(100, [
    { ours: both, measure: "opsPerSecond", against: "best peer", atLeast: 6 },
    { ours: both, measure: "clientCpuUs", against: "best peer", atMost: 1 / 8 },
    { ours: both, measure: "opsPerSecond", against: { contender: "bare socket, batching" }, atLeast: 2 / 3 },
  ]),
  ...cycle(10, [
    { ours: both, measure: "opsPerSecond", against: "best peer", atLeast: 3 },
    { ours: both, measure: "clientCpuUs", against: "best peer", atMost: 1 / 3 },
  ]),
  ...contest(one, [
    { measure: "locksPerSecond", against: "best peer", atLeast: 1.25 },
    { measure: "waitP99Ms", against: "best peer", atMost: 1 / 25 },
    { measure: "failed", atMost: 0 },
    { measure: "jainWorkers", atLeast: 0.99 },
    { measure: "commandsPerNode", atMost: 1.3 },
  ]),
  ...[five, eight].flatMap((several) =>
    contest(several, [
      { measure: "locksPerSecond", against: "best peer", atLeast: 1.2 },
      { measure: "waitMaxMs", atMost: 500 },
      { measure: "failed", atMost: 0 },
      { measure: "jainWorkers", atLeast: 0.95 },
      ...(several === eight ? [{ measure: "commandsPerNode", atMost: 3 } as const] : []),
    ]),
  ),
  ...handOvers([
    { case: "5 nodes", against: "best peer", atMost: 1 / 5 },
    { case: "5 nodes, round trips of 20 ms", against: { number: 20 }, atMost: 3 },
  ]),
  ...["one hung", "two hung", "one killed"].map(
    (fault): Target => ({
      title: `five nodes, ${fault}`,
      workload: "faults",
      case: fault,
      ours: both,
      measure: "acquireP50Ms",
      against: { case: "all healthy" },
      atMost: 1.2,
    }),
  ),
  {
    title: "a fresh process",
    workload: "import",
    case: "a fresh process",
    ours: ["@holdfast/core"],
    measure: "importMs",
    against: "best peer",
    atMost: 1,
  },
];

/** Compares what was measured with what is wanted. */
export function findingsOf(summary: Summary): Finding[] {
  return targets.flatMap((target) => target.ours.map((contender) => findingOf(summary, target, contender)));
}

/** Those findings that were measured, as lines. */
export function targetLines(findings: readonly Finding[]): string {
  const measured = findings.filter(({ isReached }) => isReached !== undefined);
  const reached = measured.filter(({ isReached }) => isReached);
  const lines = measured.map(({ title, contender, against, wanted, measured: value, isReached }) => {
    const to = against === "" ? "" : `  of ${against}`;
    return `${isReached ? "yes" : "no "}  ${title.padEnd(52)}  ${contender.padEnd(37)}  ${`${value}`.padStart(8)}, wanted ${wanted}${to}`;
  });
  return [`Targets reached: ${reached.length} of ${measured.length} measured.`, ...lines].join("\n");
}

/** The findings as a table. */
export function targetsTable(findings: readonly Finding[]): string {
  const rows = findings.map(({ title, contender, against, wanted, measured, tuned, isReached }) => [
    title,
    contender,
    against,
    wanted,
    measured ?? "–",
    isReached === undefined ? "not measured" : isReached ? "yes" : "**no**",
    tuned,
  ]);
  return tableText(["target", "ours", "compared with", "wanted", "measured", "reached", "tuned peers"], rows, "text");
}

function findingOf(summary: Summary, target: Target, contender: string): Finding {
  const { title, measure, against, atLeast, atMost } = target;
  const peers = (waiting: "default" | "tuned"): Contender | undefined => {
    const all = summary
      .contendersAt(target)
      .filter(({ role, settings }) => role === "peer" && settings.waiting === waiting);
    return summary.best(all, target);
  };
  const toPeer = (peer: Contender | undefined): number | undefined =>
    peer && summary.ratio({ ...target, contender }, { ...target, contender: peer.name })?.median;
  const bestPeer = against === "best peer" ? peers("default") : undefined;
  const value = against === "best peer" ? toPeer(bestPeer) : valueAgainst(summary, { ...target, contender }, against);
  const isRatio = against !== undefined;
  const text = (number: number): string => (isRatio ? ratioText(number) : valueText(number, measureNamed(measure)));
  const tuned = against === "best peer" ? peers("tuned") : undefined;
  const tunedRatio = toPeer(tuned);
  return {
    title: `${title}: ${measureNamed(measure).title}`,
    contender,
    wanted: atLeast === undefined ? `≤ ${text(atMost ?? 0)}` : `≥ ${text(atLeast)}`,
    measured: value === undefined ? undefined : text(value),
    against: baseText(against, bestPeer),
    tuned: tunedRatio === undefined ? "" : `${text(tunedRatio)} (${tuned?.name})`,
    isReached: value === undefined ? undefined : value >= (atLeast ?? -Infinity) && value <= (atMost ?? Infinity),
  };
}

function valueAgainst(
  summary: Summary,
  spot: Spot,
  against: Exclude<Base, "best peer"> | undefined,
): number | undefined {
  if (against === undefined) return summary.of(spot)?.median;
  if ("number" in against) {
    const value = summary.of(spot)?.median;
    return value === undefined ? undefined : value / against.number;
  }
  return summary.ratio(spot, { ...spot, ...against })?.median;
}

function baseText(against: Base | undefined, bestPeer: Contender | undefined): string {
  if (against === undefined) return "";
  if (against === "best peer") return bestPeer?.name ?? "";
  if ("contender" in against) return against.contender;
  if ("case" in against) return `itself, ${against.case}`;
  return `${against.number} ms`;
}

/** A target without what several have in common. */
type Part<Left extends keyof Target> = Pick<Target, Left> & Pick<Target, "atLeast" | "atMost" | "against">;

function cycle(workers: number, parts: readonly Part<"ours" | "measure">[]): Target[] {
  const title = `${workers} at a time, 5 nodes`;
  return parts.map((part) => ({ title, workload: "uncontended", case: `5 nodes, ${workers} at a time`, ...part }));
}

function contest(where: string, parts: readonly Part<"measure">[]): Target[] {
  return parts.map((part) => ({
    title: where,
    workload: "contended",
    case: where,
    ours: ["holdfast/ioredis"],
    ...part,
  }));
}

function handOvers(parts: readonly Part<"case">[]): Target[] {
  const about = { workload: "hand-over", ours: ["holdfast/ioredis"], measure: "handOverP50Ms" } as const;
  return parts.map((part) => ({ title: `hand-over, ${part.case}`, ...about, ...part }));
}
