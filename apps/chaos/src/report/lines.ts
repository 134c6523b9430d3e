/** The output of a run. */

import type { Result } from "../judge.ts";
import { nemeses } from "../nemeses/index.ts";
import { type ChaosOptions, commandOf } from "../options.ts";
import { type Figures, figuresOf } from "./figures.ts";

/** The head of the table whose rows are {@link lineOf}. */
export function headOf(options: ChaosOptions): string {
  const { nodes, clients, ttlMs, seed, seconds } = options;
  const goal = options.mode === "election" ? "stand for election" : "contend for a lock";
  const names = options.nemeses.map(({ name }) => name);
  return [
    `${clients} client processes ${goal} over ${nodes} redis-servers, ttl ${ttlMs} ms, seed ${seed}.`,
    `They are attacked for about ${seconds} s by: ${names.length === nemeses.length ? "all nemeses" : names.join(", ")}.\n`,
    "                                                                                       updates lost",
    "    time  nemesis             strikes         locks  available  longest gap  overlaps  unfenced  fenced",
  ].join("\n");
}

/** The row of an attack. */
export function lineOf({ slice, atMs, findings }: Result): string {
  const { nemesis, nodes, clients } = slice;
  const targets = nemesis.nodes === "all" ? "all" : [...nodes, ...clients].join(" ");
  const line = [
    `${(atMs / 1000).toFixed(1)} s`.padStart(8),
    `  ${nemesis.name.padEnd(18)}  ${targets.padEnd(14)}`,
    String(findings.locks).padStart(7),
    `${Math.floor(findings.availability * 100)} %`.padStart(11),
    `${Math.round(findings.longestGapMs)} ms`.padStart(13),
    String(findings.overlaps.length).padStart(10),
    String(findings.lostPlain).padStart(10),
    String(findings.lostFenced).padStart(8),
  ].join("");
  return [line, ...findings.violations.map((what) => `          VIOLATED: ${what}`)].join("\n");
}

/** The summary of a run. */
export function summaryOf(options: ChaosOptions, results: readonly Result[]): string {
  const kinds = (["survivable", "lock-breaking"] as const).flatMap((kind) => {
    const ofKind = results.filter(({ slice }) => slice.nemesis.kind === kind);
    return ofKind.length === 0 ? [] : [`${kind.padEnd(13)}  ${sentence(figuresOf(ofKind))}`];
  });
  const violated = results.filter(({ findings }) => findings.violations.length > 0);
  return [
    "",
    ...kinds,
    "",
    violated.length === 0
      ? "Nothing was violated."
      : `VIOLATED in ${violated.length} of ${results.length} attacks. To draw the same attacks again:\n${commandOf(options)}`,
  ].join("\n");
}

function sentence({ attacks, locks, overlaps, lostPlain, lostFenced }: Figures): string {
  return (
    `${attacks} attacks, ${locks} locks; two clients at once: ${overlaps}; ` +
    `updates lost: ${lostPlain} without tokens, ${lostFenced} with tokens`
  );
}
