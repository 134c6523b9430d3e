import { levelDescriptions, levels, severities } from "../../src/doctor/finding-kind.ts";
import { kinds } from "../../src/doctor/judge.ts";
import { renderReport } from "../../src/doctor/render.ts";
import { example } from "./example.ts";
import type { Situation } from "./situation.ts";

const intro = `# What \`holdfast doctor\` reports

\`holdfast doctor\` inspects the servers from \`--node\`, \`HOLDFAST_NODES\` or the configuration file, tries a lock on each
of them, and reports the level of guarantees that they reach. It is meant for people and for monitoring: \`--json\` prints
the report in one line, and the exit code says whether the level of \`--require\` is reached.

A test generates this page: do not edit it.`;

const beforeLevels = `## Levels

A level is reached if no finding contradicts it. Everything that the doctor may not see counts as missing.`;

const afterLevels = `The levels describe the *servers*. The rest is up to you: holders must act only while their lock is valid
([what a lock can and cannot promise](../../README.md#what-a-lock-can-and-cannot-promise)), the storage must check tokens,
and all clients must use the same servers, databases, prefix and restart guard. None of this is visible on a server.

| exit code | meaning |
| --- | --- |
| 0 | the required level is reached (\`--require\`; default: \`exclusion\`) |
| 1 | the required level is not reached |
| 64 | the command line or the configuration is wrong |
| 69 | fewer servers than a quorum can be reached |

## Findings

An **error** breaks locks, a **warning** may break them, and a **notice** is information. Each finding is tested with real
servers set up as in the last column, for which the doctor must report it, and nothing that is not so. A *proxy* between
the doctor and the server changes replies where the table says so.`;

const outro = `## Effects on the servers

For a fraction of a second, the doctor sends to all servers concurrently: a hundred pings, one after the other (fewer
if they take more than three seconds); \`TIME\`, \`INFO\`, \`CONFIG GET\` of the persistence settings, and \`PUBSUB
NUMSUB\`; each command that locks need, with names that begin with \`holdfast-doctor-\` under the prefix; and a lock
on such a name. It reads the floor, and up to a hundred thousand fence counters, a thousand at a time. The doctor
removes all its keys; if it is killed, they expire within seconds. A missing permission leaves an entry in \`ACL
LOG\`. The other stores get a hundred extensions of one lock in place of the pings, each of which is written to
disk. One row or counter of the doctor stays, \`holdfast-doctor\`. PostgreSQL, MySQL and MariaDB also get queries of
their settings, their replicas and their connections, and PostgreSQL a notification on a channel of its own; etcd,
requests for its status, members and alarms. In addition to the permissions [for
locks](../redis/README.md#operating-the-servers), the doctor uses \`+info +config|get +pubsub|numsub\`, and \`+scan\`
to count fence counters.

The doctor ends within half a minute whatever the servers do. A server that hangs counts as unreachable after a few seconds.

**Clocks.** The clock difference is measured over the shortest of five round trips, with an error of up to half of that
round trip. Only a difference that is certain is reported.

**Recommended node timeout.** Five times the 99th percentile of the slowest server, at least 50 ms, and at most a tenth of
the ttl. A slow server then does not count as down, and a server that is down costs a lock little of its ttl.

## \`--json\`

| key | content |
| --- | --- |
| \`ok\`, \`required\` | whether the required level is reached, and the required level |
| \`level\` | the level that is reached: \`efficiency\`, \`exclusion\`, \`fenced\`, or null |
| \`quorum\`, \`mayFail\` | how many servers must grant a lock, and how many may fail; in joint sets, whichever they are |
| \`recommendedNodeTimeoutMs\` | see above; null if no latency was measured |
| \`findings\` | a list of \`code\`, \`severity\`, \`server\` (its name, or null), \`message\`, \`remedy\`, and the \`level\` that is missed because of it, or null |
| \`servers\` | the facts about each server: \`name\`, \`address\`, \`failure\` (or null), and \`view\` (or null), and \`stored\`: the \`floor\`, the \`epoch\` (the stage of changes that it is at, as a number), how many fence \`counters\` were read, and whether these are all (\`isComplete\`), or null |
| \`joint\`, \`generation\` | the positions of the servers in the \`old\` and in the \`new\` set while servers change, or null; and the generation from \`--generation\` |
| \`ttlMs\`, \`nodeTimeoutMs\`, \`restartGuardMs\` | the options that the judgement is based on |

Keys and codes may be added, but existing ones do not change.`;

/** Returns the page with the requirements of each level, and the servers that show each finding. */
export function doctorPage(situations: readonly Situation[]): string {
  const bySeverity = severities.flatMap((severity) =>
    Object.entries(kinds).filter(([, kind]) => kind.severity === severity),
  );
  const rows = bySeverity.map(([code, { severity, level, when }]) => {
    const shown = situations.filter((situation) => situation.code === code).map(({ how }) => how);
    return [`\`${code}\``, severity, level ?? "", when, shown.join("; ")];
  });
  const levelRows = levels.map((level) => {
    const { title, promise, needs } = levelDescriptions[level];
    return [`\`${level}\``, title, promise, needs];
  });
  return `${[
    intro,
    `\`\`\`console\n$ holdfast doctor\n${renderReport(example, { width: 80, isUnicode: false })}\n\`\`\``,
    beforeLevels,
    table(["`--require`", "level", "guarantee", "requirements"], levelRows),
    afterLevels,
    table(["finding", "severity", "level missed", "condition", "tested with"], rows),
    outro,
  ].join("\n\n")}\n`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
