import { type Code, kinds, severities } from "../../src/doctor/catalogue.ts";
import { levelDescriptions, levels } from "../../src/doctor/levels.ts";
import { renderReport } from "../../src/doctor/render.ts";
import { example } from "./example.ts";
import type { Situation } from "./situations.ts";

const intro = `# What \`holdfast doctor\` tells

\`holdfast doctor\` looks at the servers that are named (\`--node\`, \`HOLDFAST_NODES\`, or the configuration file), tries a lock
on each, and tells what can be relied on. It is meant for people, and for machines that watch servers: \`--json\` prints
everything in one line, and the exit code tells whether the level of \`--require\` is reached.

This page is written by a test: do not edit it.`;

const beforeLevels = `## Levels

A level is reached when nothing is found that keeps the servers from it. What the doctor may not look at counts as missing.`;

const afterLevels = `The levels say what the *servers* are good for. The rest is yours: that holders act only while their lock is valid
([what a lock can and cannot promise](../../README.md#what-a-lock-can-and-cannot-promise)), that the storage checks tokens, and
that all clients use the same servers, databases, prefix, and restart guard. None of it can be seen from a server.

| exit code | meaning |
| --- | --- |
| 0 | the required level is reached; \`--require\` is \`exclusion\` unless it says otherwise |
| 1 | it is not |
| 64 | the command line or the configuration is wrong |
| 69 | fewer servers than a quorum can be reached |

## Findings

An **error** breaks locks, a **warning** may, a **notice** is good to know. Each is tested with real servers that are set up like
this, of which the doctor must find it, and nothing that is not so. What is *heard* differs from what the server says: a proxy
changes it on its way.`;

const outro = `## What it does to the servers

For a fraction of a second, on every server at the same time: a hundred pings, one after the other (fewer where they take more
than three seconds); \`TIME\`, \`INFO\`, \`CONFIG GET\` of how it writes to disk, and \`PUBSUB NUMSUB\`; each command that locks need, with names
that begin with \`holdfast-doctor-\` under the prefix; and a lock on such a name. All of it is removed again; should the doctor be
killed, it expires within seconds. A permission that is missing leaves an entry in \`ACL LOG\`. Beyond what
[locks need](../redis/README.md#operating-the-servers), it wants \`+info +config|get +pubsub|numsub\`.

It ends within half a minute whatever the servers do. One that hangs counts as unreachable after a few seconds.

**Clocks.** The difference is taken over the shortest of five round trips, and is known to within half of that. Only a
difference that is certain is found.

**Recommended node timeout.** Five times the 99th percentile of the slowest server, at least 50 ms, and at most a tenth of the
ttl. A server that is only slow is then not taken for one that is down, and one that is down costs a lock little of its ttl.

## \`--json\`

| key | content |
| --- | --- |
| \`ok\`, \`required\` | whether the required level is reached, and which it is |
| \`level\` | the level that is reached: \`efficiency\`, \`exclusion\`, \`fenced\`, or null |
| \`quorum\`, \`mayFail\` | how many servers must grant a lock, and how many may fail |
| \`recommendedNodeTimeoutMs\` | see above; null where nothing was measured |
| \`findings\` | a list of \`code\`, \`severity\`, \`server\` (its name, or null), \`message\`, \`remedy\`, and the \`level\` that it keeps from, or null |
| \`servers\` | what was seen of each: \`name\`, \`address\`, \`failure\` (or null), and \`view\` (or null) |
| \`ttlMs\`, \`nodeTimeoutMs\`, \`restartGuardMs\` | what it was judged for |

Keys and codes stay as they are; others may be added.`;

/** The page: what each level takes, and which finding is shown by which servers. */
export function doctorPage(situations: readonly Situation[]): string {
  const codes = severities.flatMap((severity) =>
    (Object.keys(kinds) as Code[]).filter((code) => kinds[code].severity === severity),
  );
  const rows = codes.map((code) => {
    const { severity, level, when } = kinds[code];
    const shown = situations.find((situation) => situation.code === code);
    return [`\`${code}\``, severity, level ?? "", when, shown?.how ?? ""];
  });
  const levelRows = levels.map((level) => {
    const { title, promise, needs } = levelDescriptions[level];
    return [`\`${level}\``, title, promise, needs];
  });
  return `${[
    intro,
    `\`\`\`console\n$ holdfast doctor\n${renderReport(example, { width: 80, isUnicode: false })}\n\`\`\``,
    beforeLevels,
    table(["`--require`", "level", "what can be relied on", "what it takes"], levelRows),
    afterLevels,
    table(["finding", "", "keeps from", "when", "tested with"], rows),
    outro,
  ].join("\n\n")}\n`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
