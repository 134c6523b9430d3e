/** Runs `holdfast` as a process, as users do. */
import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { cp, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { reapedDirectory } from "@holdfast/testkit";
import { afterEach, expect } from "vitest";
import { folderWith } from "./folder.ts";
import { canRunHere, runHere } from "./here.ts";
import type { Outcome } from "./outcome.ts";
// Before any server stops: after a socket is removed, Node 20.20 does not follow the next symbolic link to a module.
import "leven";

export const packageFolder: string = fileURLToPath(new URL("../..", import.meta.url));
export const program = `${packageFolder}reports/holdfast.js`;

const usualFolder = await reapedDirectory();

/** How a process is started. */
export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Default: an empty folder. */
  readonly cwd?: string;
  readonly stdio?: StdioOptions;
  /** Whether to run a copy of the program in an empty folder, where no optional package is installed. */
  readonly isAlone?: boolean;
}

/** A process that may still be running. */
export interface Started {
  readonly process: ChildProcess;
  readonly ended: Promise<Outcome>;
  /** The output so far. */
  out(): string;
  err(): string;
  /** Resolves when standard output has this text. */
  prints(text: string | RegExp): Promise<void>;
  /** Writes to standard input. */
  write(text: string): void;
}

const started = new Set<ChildProcess>();
const pids = new Set<number>();

afterEach(() => {
  for (const process of started) process.kill("SIGKILL");
  started.clear();
  for (const pid of pids) killIfThere(pid);
  pids.clear();
});

/** Kills a process that is not our child at the end of the test, if it still exists. */
export function killLater(pid: number): void {
  pids.add(pid);
}

/** Returns whether a process with this id exists. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Starts any program, without the variables of this process that concern `holdfast`. */
export function start(command: string, args: readonly string[], options: StartOptions = {}): Started {
  const child = spawn(command, [...args], {
    cwd: options.cwd ?? usualFolder,
    env: environmentOf(options),
    stdio: options.stdio ?? "pipe",
  });
  started.add(child);
  let out = "";
  let err = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  child.stdin?.on("error", () => {});
  const ended = new Promise<Outcome>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      started.delete(child);
      resolve({ code, out, err });
    });
  });
  return {
    process: child,
    ended,
    out: () => out,
    err: () => err,
    prints: (text) => expect.poll(() => out).toMatch(text),
    write: (text) => child.stdin?.write(text),
  };
}

const { PATH = "", HOME = "" } = process.env;

/** The node timeout is longer than usual, for busy machines. */
function environmentOf({ env }: StartOptions): Record<string, string> {
  return { PATH, HOME, TERM: "xterm", HOLDFAST_NODE_TIMEOUT: "1500ms", ...env };
}

/** Starts `holdfast`. */
export function startCli(args: readonly string[], options?: StartOptions): Started {
  return start(process.execPath, [program, ...args], options);
}

/** Runs `holdfast` to its end, with empty standard input: in this process if possible. */
export async function runCli(args: readonly string[], options: StartOptions = {}): Promise<Outcome> {
  if (canRunHere(args) && !options.isAlone) return runHere(args, environmentOf(options), options.cwd ?? usualFolder);
  return runProcess(args, options);
}

/**
 * Locks and releases with `holdfast run`. Returns the fence that the command gets, or the exit code and
 * the message if `holdfast` fails.
 */
export async function lockOnce(
  resource: string,
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<{ readonly fence?: number; readonly code: number | null; readonly err: string }> {
  const words = ["run", resource, ...args, "--", "sh", "-c", 'echo "$HOLDFAST_FENCE"'];
  const { code, out, err } = await runCli(words, { env });
  return { code, err, ...(code === 0 && { fence: Number(out) }) };
}

/** A command under a lock that works until it is told to end. */
export interface Holder {
  readonly owner: string;
  readonly fence: string;
  end(): Promise<Outcome>;
}

/** Starts `holdfast run` with these words, and returns when its command runs. */
export async function holdLock(words: readonly string[], env: NonNullable<StartOptions["env"]>): Promise<Holder> {
  const command = ["sh", "-c", 'echo "$HOLDFAST_OWNER $HOLDFAST_FENCE"; read line'];
  const cli = startCli(["run", ...words, "--", ...command], { env });
  await cli.prints("\n");
  const [owner = "", fence = ""] = cli.out().trim().split(" ");
  const end = () => {
    cli.write("\n");
    return cli.ended;
  };
  return { owner, fence, end };
}

/** Runs `holdfast` in a process to its end, with empty standard input. */
export async function runProcess(args: readonly string[], options: StartOptions = {}): Promise<Outcome> {
  const cli = options.isAlone
    ? start(process.execPath, [await copyOfProgram(), ...args], options)
    : startCli(args, options);
  cli.process.stdin?.end();
  return cli.ended;
}

async function copyOfProgram(): Promise<string> {
  const folder = await folderWith({ "package.json": { type: "module", version: "0.0.0" } });
  const from = dirname(program);
  for (const name of await readdir(from)) {
    if (name.startsWith("holdfast")) await cp(join(from, name), join(folder, "program", name));
  }
  return join(folder, "program", basename(program));
}

/** Starts `holdfast` at a terminal, with typed input and the output that the terminal receives. */
export function startAtTerminal(args: readonly string[], options?: StartOptions): Started {
  const words = [process.execPath, program, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  const command = `stty rows 50 cols 120; exec ${words.join(" ")}`;
  return start("script", ["--quiet", "--return", "--flush", "--command", command, "/dev/null"], {
    ...options,
    env: { SHELL: "/bin/sh", ...options?.env },
  });
}

/** The command line that runs `holdfast` in a shell. */
export const shellWords = `'${process.execPath}' '${program}'`;

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended.
  }
}
