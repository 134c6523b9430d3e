import { tableText } from "@holdfast/app-kit/report";
import { type ChaosOptions, commandOf } from "../options.ts";
import type { MembershipRun } from "./judge.ts";
import { columns, lineOf, verdictOf } from "./transcript.ts";

/** Writes the page of a run. */
export function pageOf(options: ChaosOptions, run: MembershipRun): string {
  const { clients, ttlMs, report } = options;
  const probes = run.chronicle.probes.map(({ what, error }) => [what, outcomeOf(error)]);
  return `# Servers that change under load: a transcript

${clients} client processes lock, half of them with ioredis, half with node-redis; the ttl is ${ttlMs} ms. Meanwhile their three
\`redis-server\` processes become five, two of which were there before, and then five others. The clients change one after
another, half of them by a second \`Redlock\`, half by a restart. Servers and clients are killed and paused on the way,
servers lose their data and are healed, and the operator of the change is killed in the middle of each step. The clocks of
the clients are wrong by hours, so that nothing but the counters of the nodes orders the tokens. This command generates
the page, with the same faults:

\`\`\`sh
${commandOf(options)}${report === undefined ? "" : ` --report ${report}`}
\`\`\`

Each line has the locks granted so far, the longest wait since the line before, the errors of clients so far, and how many
clients were of each generation. The longest waits are for five resources that are held for longer than a ttl at a time,
by four clients in turn; a lock of a client that is killed lasts until its ttl ends. Updates are lost without tokens where
a paused client writes after the end of its lock.

\`\`\`
${columns}
${run.chronicle.moments.map(lineOf).join("\n")}

${verdictOf(options, run)}
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
