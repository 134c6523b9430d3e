/** The demo as a program: options in, exit code out. */
import { type Interrupt, runInterruptible } from "@holdfast/testkit/interruptible";
import picocolors from "picocolors";
import { runDemo } from "./demo.ts";
import { help, parseCommand } from "./options.ts";
import { liveView } from "./view/live.ts";
import { plainView } from "./view/plain.ts";

const exitCodes = { clean: 0, violated: 1, cannotRun: 2 };
const { stdout, stderr } = process;

await runInterruptible(main);

async function main(interrupt: Interrupt): Promise<number> {
  const command = parseCommand(process.argv.slice(2));
  if (command.kind === "help") {
    stdout.write(help);
    return exitCodes.clean;
  }
  if (command.kind === "bad") {
    stderr.write(`demo: ${command.message}\nTry --help.\n`);
    return exitCodes.cannotRun;
  }
  const isRoomy = stdout.columns >= 76 && stdout.rows >= 20;
  const view = stdout.isTTY && isRoomy ? liveView(stdout, picocolors) : plainView(stdout, picocolors);
  const print = (line: string): void => void stdout.write(`${line}\n`);
  try {
    if (command.options.redis) print(" Starting six redis-servers and the worker processes …");
    const isClean = await runDemo(command.options, { view, colors: picocolors, print }, interrupt.signal);
    return isClean ? exitCodes.clean : exitCodes.violated;
  } catch (error) {
    if (interrupt.signal.aborted) {
      print(" Stopped before the end: no verdict.");
      return interrupt.exitCode;
    }
    stderr.write(`demo: ${(error as Error).message}\n`);
    return exitCodes.cannotRun;
  }
}
