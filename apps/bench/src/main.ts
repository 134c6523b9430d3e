import { createCleanup } from "@holdfast/testkit/cleanup";
import { parseCommand } from "./options.ts";
import { planOf, shuffled } from "./plan.ts";
import { run } from "./run.ts";
const c = parseCommand(process.argv.slice(2));
if (c.kind !== "run") { console.log(c); process.exit(1); }
const cleanup = createCleanup();
const t0 = Date.now();
const steps = planOf(c.options.workloads, c.options.scale, shuffled);
await run(steps, c.options.scale, cleanup, new AbortController().signal, (turn, i) => {
  console.log(`${((Date.now() - t0) / 1000).toFixed(1)} ${turn.round} ${turn.case.padEnd(25)} ${turn.contender.padEnd(40)}`, turn.error ?? Object.entries(turn.figures ?? {}).map(([k, v]) => `${k}=${v.toPrecision(4)}`).join(" "));
});
await cleanup.run();
