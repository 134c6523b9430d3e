/** `pnpm chaos`: see README.md. */
import { runProgram } from "@holdfast/app-kit/program";
import { writeFiles } from "@holdfast/app-kit/report";
import { parseCommand } from "./options.ts";
import { reportFiguresOf } from "./report/figures.ts";
import { headOf, isClean, lineOf, summaryOf } from "./report/lines.ts";
import { type Result, run } from "./run.ts";

await runProgram("chaos", parseCommand(process.argv.slice(2)), async (options, cleanup, signal) => {
  if (options.mode === "soak") {
    const { soak } = await import("./soak/soak.ts");
    return soak(options, cleanup);
  }
  if (options.mode === "membership") {
    const { playMembership } = await import("./membership/run.ts");
    return playMembership(options, cleanup, signal);
  }
  const watch = {
    begun: () => console.log(headOf(options)),
    attacked: (result: Result) => console.log(lineOf(result)),
  };
  const results = await run(options, watch, cleanup, signal);
  console.log(summaryOf(options, results));
  if (options.report !== undefined) {
    const { filesOf } = await import("./report/markdown.ts");
    const files = filesOf(reportFiguresOf(options, results));
    console.log(`The report is ${await writeFiles(options.report, files)}.`);
  }
  return isClean(results);
});
