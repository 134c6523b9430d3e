/** Runs `holdfast` as its users do: as a process. */
import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { reapedDirectory } from "@holdfast/testkit";
import { afterEach, expect } from "vitest";
// Before any server has stopped: after a socket was removed, Node 20.20 does not follow the next symbolic link to a module.
import "yargs";

export const packageFolder: string = fileURLToPath(new URL("../..", import.meta.url));
const program = `${packageFolder}reports/holdfast.js`;

/** A folder in which `holdfast` has more patience with servers than it has on machines that do nothing else. */
export async function patientFolder(): Promise<string> {
  const folder = await reapedDirectory();
  await writeFile(join(folder, "holdfast.config.json"), JSON.stringify({ nodeTimeout: "1500ms" }));
  return folder;
}

const usualFolder = await patientFolder();

/** How it is started. */
export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Default: a patient folder. */
  readonly cwd?: string;
  readonly stdio?: StdioOptions;
}

/** How it ended, and what it printed. */
export interface Outcome {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A process that may still run. */
export interface Started {
  readonly process: ChildProcess;
  readonly ended: Promise<Outcome>;
  /** What it has printed until now. */
  out(): string;
  err(): string;
  /** Resolves when it has printed this to standard output. */
  prints(text: string | RegExp): Promise<void>;
  /** Writes to its standard input. */
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

/** Has a process that is not ours killed at the end of the test, if it is still there. */
export function killLater(pid: number): void {
  pids.add(pid);
}

/** Whether there is a process with this id. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Starts any program, with nothing of this process's environment that concerns `holdfast`. */
export function start(command: string, args: readonly string[], options: StartOptions = {}): Started {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(command, [...args], {
    cwd: options.cwd ?? usualFolder,
    env: { PATH, HOME, TERM: "xterm", ...options.env },
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

/** Starts `holdfast`. */
export function startCli(args: readonly string[], options?: StartOptions): Started {
  return start(process.execPath, [program, ...args], options);
}

/** Runs `holdfast` to its end. Nothing is there to be read from its standard input. */
export async function runCli(args: readonly string[], options?: StartOptions): Promise<Outcome> {
  const cli = startCli(args, options);
  cli.process.stdin?.end();
  return cli.ended;
}

/** Starts `holdfast` at a terminal: what is written is typed there, and what is printed is what the terminal gets. */
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
    // It has ended.
  }
}
