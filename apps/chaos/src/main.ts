/** The chaos run as a program: options in, exit code out. */
import { constants } from "node:os";
import { createCleanup } from "@holdfast/testkit/cleanup";
import { parseCommand } from "./options.ts";
import { headOf, isClean, lineOf, summaryOf } from "./report/lines.ts";
import { writeReport } from "./report/write.ts";
import { type Result, run } from "./run.ts";

const exitCodes = { clean: 0, violated: 1, cannotRun: 2 };
const interrupt = new AbortController();
let signalCode = 0;

for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => {
    if (interrupt.signal.aborted) process.exit(signalCode); // asked twice: at once
    signalCode = 128 + constants.signals[name];
    interrupt.abort();
  });
}

process.exitCode = await main();
// Nothing should be left that keeps the process alive; if something is, it does not for long.
setTimeout(() => process.exit(), 3000).unref();

async function main(): Promise<number> {
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
      return signalCode;
    }
    process.stderr.write(`chaos: ${(error as Error).message}\n`);
    return exitCodes.cannotRun;
  } finally {
    await cleanup.run();
  }
}
