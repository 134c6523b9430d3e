/**
 * Runs a command of `holdfast` in this process, with the environment, the folder and the output of a process of its own.
 * A process takes most of its CPU time to start.
 */
import { runCommandLine } from "../../src/command-line.ts";
import type { Failure } from "../../src/exit-codes.ts";
import { failureOf } from "../../src/failures.ts";
import { printMessage } from "../../src/output/print.ts";
import type { Outcome } from "./outcome.ts";

/** The commands that pass their standard input and output on to another command. */
const passing = ["run", "lead"];

/** Whether a command line is for {@link runHere}: nothing but `holdfast` reads or prints. */
export function canRunHere(args: readonly string[]): boolean {
  return !passing.includes(args[0] ?? "") || args.at(-1) === "--help" || args.slice(-2).join(" ") === "-- true";
}

let last: Promise<unknown> = Promise.resolve();

/** Runs a command line, after those before it: they share the process. */
export function runHere(args: readonly string[], env: NodeJS.ProcessEnv, folder: string): Promise<Outcome> {
  const outcome = last.then(() => capture(args, env, folder));
  last = outcome.catch(() => {});
  return outcome;
}

async function capture(args: readonly string[], env: NodeJS.ProcessEnv, folder: string): Promise<Outcome> {
  const { stdout, stderr, env: outerEnv } = process;
  const outerFolder = process.cwd();
  const [writeOut, writeErr] = [stdout.write, stderr.write];
  let [out, err] = ["", ""];
  stdout.write = (text: unknown) => {
    out += String(text);
    return true;
  };
  stderr.write = (text: unknown) => {
    err += String(text);
    return true;
  };
  process.env = env;
  process.chdir(folder);
  try {
    await runCommandLine(args).catch((error: unknown) => {
      const { message, exitCode }: Failure = failureOf(error);
      printMessage(message);
      process.exitCode = exitCode;
    });
    return { code: Number(process.exitCode ?? 0), out, err };
  } finally {
    process.exitCode = undefined;
    process.chdir(outerFolder);
    process.env = outerEnv;
    stdout.write = writeOut;
    stderr.write = writeErr;
  }
}
