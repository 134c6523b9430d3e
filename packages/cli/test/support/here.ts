/**
 * Runs a command of `holdfast` in this process, with the environment, the folder and the output of a process of its own.
 * A process takes most of its CPU time to start.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import { runCommandLine } from "../../src/command-line.ts";
import type { Failure } from "../../src/exit-codes.ts";
import { failureOf } from "../../src/failures.ts";
import { printMessage } from "../../src/output/print.ts";
import type { Outcome } from "./outcome.ts";

/** The programs under a lock whose output can be told from that of this process: a shell redirects it. */
const programs = ["sh", "echo", "printf", "true"];

/** Whether a command line is for {@link runHere}: one that needs no standard input, and no signal ends it. */
export function canRunHere(args: readonly string[]): boolean {
  const isPassing = ["run", "lead"].includes(args[0] ?? "") && args.at(-1) !== "--help";
  return !isPassing || programs.includes(commandOf(args)[0] ?? "true");
}

function commandOf(args: readonly string[]): readonly string[] {
  return args.includes("--") ? args.slice(args.indexOf("--") + 1) : [];
}

let last: Promise<unknown> = Promise.resolve();

/** Runs a command line, after those before it: they share the process. */
export function runHere(args: readonly string[], env: NodeJS.ProcessEnv, folder: string): Promise<Outcome> {
  const outcome = last.then(() => captureAll(args, env, folder));
  last = outcome.catch(() => {});
  return outcome;
}

/** Runs a command line, and reads what the program under the lock has printed. */
async function captureAll(args: readonly string[], env: NodeJS.ProcessEnv, folder: string): Promise<Outcome> {
  const command = commandOf(args);
  if (command.length === 0) return capture(args, env, folder);
  const file = join(await reapedDirectory(), "output");
  const redirected = ["sh", "-c", 'exec "$@" >"$0.out" 2>"$0.err" </dev/null', file, ...command];
  const { code, out, err } = await capture([...args.slice(0, -command.length), ...redirected], env, folder);
  const [printed, told] = await Promise.all(
    ["out", "err"].map((stream) => readFile(`${file}.${stream}`, "utf8").catch(() => "")),
  );
  return { code, out: out + printed, err: told + err };
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
