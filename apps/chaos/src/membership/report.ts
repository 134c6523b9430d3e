/** The output of a run with `--membership`. */
import { tableText } from "@holdfast/app-kit/report";
import { type ChaosOptions, commandOf } from "../options.ts";
import { type Chronicle, columns, countBy, countsOf } from "./chronicle.ts";
import type { Findings } from "./judge.ts";

/** The head of the transcript. */
export function headOf({ clients, ttlMs, seed }: ChaosOptions): string {
  return [
    `${clients} client processes lock, ttl ${ttlMs} ms, while three redis-servers become five, and then five others.`,
    `Servers, clients and the operator of the changes are killed meanwhile; seed ${seed}.\n`,
    columns,
  ].join("\n");
}

/** The verdict. */
export function verdictOf(options: ChaosOptions, { granted, bands, probes, errors }: Chronicle, findings: Findings) {
  const { overlaps, tokenFaults, lostPlain, lostFenced, violations } = findings;
  const waitsMs = granted.map(({ waitedMs }) => waitedMs).sort((a, b) => a - b);
  const medianMs = waitsMs[Math.floor(waitsMs.length / 2)] ?? 0;
  const faults = countBy(bands.map(({ lane, label }) => `${lane.startsWith("n") ? "server" : "client"} ${label}`));
  const refused = probes.filter(({ error }) => error !== undefined).length;
  return [
    `${granted.length} locks (${countsOf(granted.map(({ stage }) => stage))}); errors: ${errors.length}`,
    `half of the waits took less than ${Math.ceil(medianMs)} ms, the longest one ${((waitsMs.at(-1) ?? 0) / 1_000).toFixed(1)} s`,
    `two clients at once: ${overlaps}; tokens out of order: ${tokenFaults}; ` +
      `updates lost: ${lostPlain} without tokens, ${lostFenced} with tokens`,
    `faults: ${[...faults].map(([what, count]) => `${what}: ${count}`).join(", ")}; ` +
      `clients of wrong stages that were refused: ${refused}`,
    "",
    ...(violations.length === 0
      ? ["Nothing was violated."]
      : [...violations.slice(0, 20).map((what) => `VIOLATED: ${what}`), `The command: ${commandOf(options)}`]),
  ].join("\n");
}

/** Writes the page of a run. */
export function pageOf(options: ChaosOptions, chronicle: Chronicle, findings: Findings): string {
  const { clients, ttlMs } = options;
  const probes = chronicle.probes.map(({ what, error }) => [what, outcomeOf(error)]);
  return `# Servers that change under load: a transcript

${clients} client processes lock, half of them with ioredis, half with node-redis; the ttl is ${ttlMs} ms. Meanwhile their three
\`redis-server\` processes become five, two of which were there before, and then five others. The clients change one after
another, half of them by a second \`Redlock\`, half by a restart. Servers and clients are killed and paused on the way,
servers lose their data and are healed, and the operator of the change is killed in the middle of each step. The clocks of
the clients are wrong by hours, so that nothing but the counters of the nodes orders the tokens. This command generates
the page, with the same faults:

\`\`\`sh
${commandOf(options)}
\`\`\`

Each line has the locks granted so far, the longest wait since the line before, the errors of clients so far, and how many
clients were of each generation. The longest waits are for five resources that are held for longer than a ttl at a time,
by four clients in turn; a lock of a client that is killed lasts until its ttl ends. Updates are lost without tokens where
a paused client writes after the end of its lock.

\`\`\`
${columns}
${chronicle.lines.join("\n")}

${verdictOf(options, chronicle, findings)}
\`\`\`

## Clients of other stages

After each step, a client of a stage that the step excludes tried to lock, and in the end one of the last stage. The reason
is that of the first node that refused.

${tableText(["client", "result"], probes, 2)}
`;
}

function outcomeOf(error: string | undefined): string {
  if (error === undefined) return "served";
  const [reason = error] = /does not serve clients of [^,]*/.exec(error) ?? [];
  return `refused: ${reason}`;
}
