import type { Nemesis } from "../nemeses/nemesis.ts";
import { type ChaosOptions, commandOf } from "../options.ts";
import type { Result } from "../run.ts";
import { figuresOf } from "./figures.ts";

/** Returns the path of the picture of a nemesis, relative to the report. */
export function pictureOf({ name }: Nemesis): string {
  return `timelines/${name}.svg`;
}

/** Writes the report of a run. */
export function markdownOf(options: ChaosOptions, results: readonly Result[]): string {
  const { nodes, clients, ttlMs } = options;
  const seconds = Math.round((results.at(-1)?.atMs ?? 0) / 1_000);
  const time = seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`;
  return `# Locks under attack: a report

${clients} client processes contended for one lock over ${nodes} real \`redis-server\` processes, each behind a proxy of its own, and
were attacked for ${time}. The ttl was ${ttlMs} ms. This command generates the page, with the same attacks:

\`\`\`sh
${commandOf(options)}${options.report === undefined ? "" : ` --report ${options.report}`}
\`\`\`

${verdictOf(results)}

## Survivable

${table(options.nemeses, results, "survivable")}
## Lock-breaking

No lock that times out can exclude others under these. Updates were lost where only the lock protected the data, and none
where the data checked tokens.

${table(options.nemeses, results, "lock-breaking")}
- **available**: the share of the time without gaps of more than 100 ms in which no client held the lock, though all
  clients wanted it. When a minority is down, all other nodes must agree, and rivals split their votes more often.
- **two at once**: how often a lock was granted while another client had the right to rely on its own.
- **lost without tokens**: missing updates of a set that clients read, change and write back under the lock.
- **lost with tokens**: the same for a set that remembers the largest token it was shown, by reads and writes, and refuses
  smaller ones. **Refused** counts the refusals.

## Pictures

Each picture shows one attack: one that did harm, if any did.

${pictured(options.nemeses)
  .map((nemesis) => `### ${nemesis.name}\n\n![The timeline of ${nemesis.name}](./${pictureOf(nemesis)})\n`)
  .join("\n")}`;
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

/** The nemeses with a picture, those that break locks first. */
export function pictured(nemeses: readonly Nemesis[]): readonly Nemesis[] {
  return nemeses.filter((nemesis) => nemesis.pictured).sort((a, b) => a.kind.localeCompare(b.kind));
}

function table(nemeses: readonly Nemesis[], results: readonly Result[], kind: Nemesis["kind"]): string {
  const rows = nemeses
    .filter((nemesis) => nemesis.kind === kind)
    .map((nemesis) => {
      const figures = figuresOf(results.filter(({ slice }) => slice.nemesis === nemesis));
      const { attacks, locks, availability, longestGapMs, overlaps, lostPlain, lostFenced, refused } = figures;
      const numbers = [attacks, locks, `${Math.floor(availability * 100)} %`, `${Math.round(longestGapMs)} ms`];
      const name = nemesis.pictured ? `[${nemesis.name}](#${nemesis.name})` : nemesis.name;
      return `| ${name} | ${nemesis.description} | ${[...numbers, overlaps, lostPlain, lostFenced, refused].join(" | ")} |\n`;
    });
  if (rows.length === 0) return "None was chosen.\n";
  return `| nemesis | what it does | attacks | locks | available | longest gap | two at once | lost without tokens | lost with tokens | refused |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
${rows.join("")}`;
}
