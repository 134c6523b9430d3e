import { tableText } from "@holdfast/app-kit/report";
import type { Result } from "../judge.ts";
import type { Nemesis } from "../nemeses/nemesis.ts";
import { type ChaosOptions, commandOf } from "../options.ts";
import { eventsOf } from "./events.ts";
import { figuresOf } from "./figures.ts";

/** A nemesis with the results of its attacks. */
interface Attacks {
  readonly nemesis: Nemesis;
  readonly results: readonly Result[];
}

/** Writes the page of a run. */
export function markdownOf(options: ChaosOptions, results: readonly Result[]): string {
  const { nodes, clients, ttlMs } = options;
  const seconds = Math.round((results.at(-1)?.atMs ?? 0) / 1_000);
  const time = seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`;
  const attacks = options.nemeses.map((nemesis) => {
    return { nemesis, results: results.filter(({ slice }) => slice.nemesis === nemesis) };
  });
  return `# Locks under attack: a report

${clients} client processes contended for one lock over ${nodes} real \`redis-server\` processes, each behind a proxy of its own, and
were attacked for ${time}. The ttl was ${ttlMs} ms. This command generates the page, with the same attacks:

\`\`\`sh
${commandOf(options)}
\`\`\`

${verdictOf(results)}

## Survivable

${tableOf(attacks, "survivable")}

## Lock-breaking

No lock that times out can exclude others under these. Updates were lost where only the lock protected the data, and none
where the data checked tokens.

${tableOf(attacks, "lock-breaking")}

- **available**: the share of the time without gaps of more than 100 ms in which no client held the lock, though all
  clients wanted it. When a minority is down, all other nodes must agree, and rivals split their votes more often.
- **two at once**: how often a lock was granted while another client had the right to rely on its own.
- **lost without tokens**: missing updates of a set that clients read, change and write back under the lock.
- **lost with tokens**: the same for a set that remembers the largest token it was shown, by reads and writes, and refuses
  smaller ones. **Refused** counts the refusals.

## Attacks that did harm

For each nemesis, the attack that did the most harm. Tokens are those of the locks, less the smallest one.
${attacks.map(harmOf).join("")}`;
}

function verdictOf(results: readonly Result[]): string {
  const violated = results.filter(({ findings }) => findings.violations.length > 0);
  if (violated.length === 0) {
    return [
      "Nothing was violated. Under every nemesis, tokens grew, and no update was lost where tokens were checked. Under the",
      "survivable ones, no two clients held the lock at once.",
    ].join("\n");
  }
  const what = violated.flatMap(({ slice, findings }) =>
    findings.violations.map((violation) => `- ${slice.nemesis.name}: ${violation}\n`),
  );
  return `**Violated** in ${violated.length} of ${results.length} attacks:\n\n${what.join("")}`;
}

const head = [
  ...["nemesis", "what it does", "attacks", "locks", "available", "longest gap"],
  ...["two at once", "lost without tokens", "lost with tokens", "refused"],
];

function tableOf(all: readonly Attacks[], wanted: Nemesis["kind"]): string {
  const rows = all
    .filter(({ nemesis }) => nemesis.kind === wanted)
    .map(({ nemesis: { name, description }, results }) => {
      const { availability, longestGapMs, ...figures } = figuresOf(results);
      const { attacks, locks, overlaps, lostPlain, lostFenced, refused } = figures;
      const available = [`${Math.floor(availability * 100)} %`, `${Math.round(longestGapMs)} ms`];
      const title = worstOf(results) === undefined ? name : `[${name}](#${name})`;
      return [title, description, attacks, locks, ...available, overlaps, lostPlain, lostFenced, refused];
    });
  return rows.length === 0 ? "None was chosen." : tableText(head, rows, 2);
}

/** The part about the worst attack of a nemesis; empty if none did harm. */
function harmOf({ nemesis, results }: Attacks): string {
  const worst = worstOf(results);
  if (worst === undefined) return "";
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
  const rows = eventsOf(worst).map(({ who, what, fromMs, toMs }) => {
    return [seconds(fromMs), toMs === fromMs ? "" : seconds(toMs), who, what];
  });
  return `\n### ${nemesis.name}\n\n${tableText(["from", "to", "who", "what"], rows, 4)}\n`;
}

/** The attack that did the most harm, if any did; of equal ones, the first. */
function worstOf(results: readonly Result[]): Result | undefined {
  const harm = ({ findings }: Result): number =>
    1_000 * findings.violations.length + 10 * findings.overlaps.length + findings.lostPlain;
  return results.filter((result) => harm(result) > 0).sort((a, b) => harm(b) - harm(a))[0];
}
