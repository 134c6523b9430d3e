/** The chaos run as a program: options in, exit code out. */
import { createCleanup } from "@holdfast/testkit/cleanup";
import { type Interrupt, runInterruptible } from "@holdfast/testkit/interruptible";
import { parseCommand } from "./options.ts";
import { headOf, isClean, lineOf, summaryOf } from "./report/lines.ts";
import { writeReport } from "./report/write.ts";
import { type Result, run } from "./run.ts";

const exitCodes = { clean: 0, violated: 1, cannotRun: 2 };

await runInterruptible(main);

async function main(interrupt: Interrupt): Promise<number> {
  const command = parseCommand(process.argv.slice(2));
  if (command.kind === "print") {
    process.stdout.write(command.text);
    return exitCodes.clean;
  }
  if (command.kind === "bad") {
    process.stderr.write(`chaos: ${command.message}\nTry --help.\n`);
    return exitCodes.cannotRun;
  }
  const { options } = command;
  const cleanup = createCleanup();
  try {
    const watch = {
      begun: () => console.log(headOf(options)),
      attacked: (result: Result) => console.log(lineOf(result)),
    };
    const results = await run(options, watch, cleanup, interrupt.signal);
    console.log(summaryOf(options, results));
    if (options.report !== undefined)
      console.log(`The report is ${await writeReport(options.report, options, results)}.`);
    return isClean(results) ? exitCodes.clean : exitCodes.violated;
  } catch (error) {
    if (interrupt.signal.aborted) {
      console.log("Stopped before the end: no verdict.");
      return interrupt.exitCode;
    }
    process.stderr.write(`chaos: ${(error as Error).message}\n`);
    return exitCodes.cannotRun;
  } finally {
    await cleanup.run();
  }
}
