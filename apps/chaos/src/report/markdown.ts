import { reportFiles, tableText } from "@holdfast/app-kit/report";
import type { NemesisRow, ReportFigures } from "./figures.ts";

/** Returns the files of a report, by their paths. */
export function filesOf(figures: ReportFigures): ReadonlyMap<string, string> {
  return reportFiles(markdownOf(figures), figures);
}

/** Writes the page of a run. */
export function markdownOf(figures: ReportFigures): string {
  const { command, nodes, clients, ttlMs, seconds } = figures.run;
  const time = seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`;
  return `# Locks under attack: a report

${clients} client processes contended for one lock over ${nodes} real \`redis-server\` processes, each behind a proxy of its own, and
were attacked for ${time}. The ttl was ${ttlMs} ms. This command generates the page, with the same attacks:

\`\`\`sh
${command}
\`\`\`

${verdictOf(figures)}

## Survivable

${tableOf(figures, "survivable")}

## Lock-breaking

No lock that times out can exclude others under these. Updates were lost where only the lock protected the data, and none
where the data checked tokens.

${tableOf(figures, "lock-breaking")}

- **available**: the share of the time without gaps of more than 100 ms in which no client held the lock, though all
  clients wanted it. When a minority is down, all other nodes must agree, and rivals split their votes more often.
- **two at once**: how often a lock was granted while another client had the right to rely on its own.
- **lost without tokens**: missing updates of a set that clients read, change and write back under the lock.
- **lost with tokens**: the same for a set that remembers the largest token it was shown, by reads and writes, and refuses
  smaller ones. **Refused** counts the refusals.

${happenedOf(figures)}[figures.json](./figures.json) has all of these figures.
`;
}

function happenedOf({ rows }: ReportFigures): string {
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(2)} s`;
  const attacks = rows
    .filter(({ happened }) => happened.length > 0)
    .map(({ nemesis, happened }) => {
      const events = happened.map(({ who, what, fromMs, toMs }) => {
        return [seconds(fromMs), toMs === fromMs ? "" : seconds(toMs), who, what];
      });
      return `### ${nemesis}\n\n${tableText(["from", "to", "who", "what"], events, 4)}\n\n`;
    });
  if (attacks.length === 0) return "";
  return `## Attacks that did harm

For each nemesis, the attack that did the most harm. Tokens are those of the locks, less the smallest one.

${attacks.join("")}`;
}

function verdictOf({ run }: ReportFigures): string {
  if (run.violated.length === 0) {
    return [
      "Nothing was violated. Under every nemesis, tokens grew, and no update was lost where tokens were checked. Under the",
      "survivable ones, no two clients held the lock at once.",
    ].join("\n");
  }
  const what = run.violated.flatMap(({ nemesis, violations }) =>
    violations.map((violation) => `- ${nemesis}: ${violation}\n`),
  );
  return `**Violated** in ${run.violated.length} of ${run.attacks} attacks:\n\n${what.join("")}`;
}

function tableOf({ rows }: ReportFigures, wanted: NemesisRow["kind"]): string {
  const cells = rows
    .filter(({ kind }) => kind === wanted)
    .map(({ nemesis, description, attacks, locks, availability, longestGapMs, happened, ...harm }) => {
      const name = happened.length > 0 ? `[${nemesis}](#${nemesis})` : nemesis;
      const available = `${Math.round(availability * 100)} %`;
      const { twoAtOnce, lostWithoutTokens, lostWithTokens, refused } = harm;
      const numbers = [attacks, locks, available, `${longestGapMs} ms`, twoAtOnce, lostWithoutTokens, lostWithTokens];
      return [name, description, ...numbers, refused];
    });
  return cells.length === 0 ? "None was chosen." : tableText(head, cells, 2);
}

const head = [
  ...["nemesis", "what it does", "attacks", "locks", "available", "longest gap"],
  ...["two at once", "lost without tokens", "lost with tokens", "refused"],
];
