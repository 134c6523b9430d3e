#!/usr/bin/env node
/** The entry point: runs the command line and sets the exit code. */
import { runCommandLine } from "./command-line.ts";
import type { Failure } from "./exit-codes.ts";
import { failureOf } from "./failures.ts";
import { printMessage, surviveLostOutput } from "./output/print.ts";

/**
 * How long anything that is still open at the end, such as a connection that the server does not close, may delay the
 * exit.
 */
const graceMs = 1_000;

surviveLostOutput();
try {
  await runCommandLine(process.argv.slice(2));
} catch (error) {
  const { message, exitCode }: Failure = failureOf(error);
  printMessage(message);
  process.exitCode = exitCode;
}
setTimeout(() => process.exit(), graceMs).unref();
