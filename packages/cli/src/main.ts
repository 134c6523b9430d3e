#!/usr/bin/env node
/** The program: a command line in, an exit code out. */
import { runCommandLine } from "./command-line.ts";
import type { Failure } from "./exit-codes.ts";
import { failureOf } from "./failures.ts";
import { complain, surviveLostOutput } from "./output/print.ts";

/** What may be left at the end, such as a connection that the other side does not close, has this long to end by itself. */
const graceMs = 1_000;

surviveLostOutput();
try {
  await runCommandLine(process.argv.slice(2));
} catch (error) {
  const { message, exitCode }: Failure = failureOf(error);
  complain(message);
  process.exitCode = exitCode;
}
setTimeout(() => process.exit(), graceMs).unref();
