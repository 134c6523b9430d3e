/** `pnpm chaos`: see README.md. */
import { runProgram } from "@holdfast/app-kit/program";
import { playMembership } from "./membership/run.ts";
import { parseCommand } from "./options.ts";
import { run } from "./run.ts";
import { soak } from "./soak/soak.ts";

/** Each prints what happens, and resolves with whether every promise was kept. */
const runs = { locks: run, election: run, membership: playMembership, soak };

await runProgram("chaos", parseCommand(process.argv.slice(2)), (options, cleanup, signal) =>
  runs[options.mode](options, cleanup, signal),
);
