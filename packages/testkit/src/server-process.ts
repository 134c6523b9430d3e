import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import { reapedDirectory } from "./reaper.ts";
import { removeDirectory } from "./remove-directory.ts";
import { letIn, type ServerUser } from "./server-user.ts";

/** A program that runs as a server until it is ended. */
export interface ServerProgram {
  readonly command: string;
  readonly args: readonly string[];
  /** A reaped directory, which gets the log and the process id. */
  readonly directory: string;
  /** How to install the program. */
  readonly advice: string;
  readonly user?: ServerUser;
  /** Environment variables, in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether this process, and not another one, answers on the port. An error counts as no. */
  isAnswering(pid: number): Promise<boolean>;
}

const startTimeoutMs = 30_000;
const portsMax = 20;
/** Once in thousands of starts, a server neither answers nor says why. */
const silentStartsMax = 2;

const restartAttempts = 5;
const stopTimeoutMs = 10_000;

const silence = `did not answer within ${startTimeoutMs} ms`;

/** Sends a signal to a server. */
type Signal = (child: ChildProcess, name: NodeJS.Signals) => void | Promise<void>;

/** Options of {@link controlServer}. */
export interface ServerHabits {
  /** Sends a signal to all its processes. Default: it has one. */
  readonly signal?: Signal;
  /** The signal that stops it for good. Default: SIGKILL. */
  readonly stopSignal?: NodeJS.Signals;
}

/**
 * Creates a temporary directory for a server and its user, and removes it if `start` rejects.
 *
 * @param user the user of the server; undefined for that of this process
 */
export async function inServerDirectory<T>(user: ServerUser, start: (directory: string) => Promise<T>): Promise<T> {
  const directory = await reapedDirectory();
  try {
    await letIn(user, directory);
    return await start(directory);
  } catch (error) {
    await removeDirectory(directory);
    throw error;
  }
}

/**
 * Returns control over a server that is not running yet: `restart()` starts it.
 *
 * @param directory the reaped directory of the server
 * @param program describes the program, called for each start
 */
export function controlServer(
  directory: string,
  program: () => Omit<ServerProgram, "directory">,
  { signal = (child, name) => void child.kill(name), stopSignal = "SIGKILL" }: ServerHabits = {},
) {
  let child: ChildProcess | undefined;
  const send = (name: NodeJS.Signals) => child && signal(child, name);
  const kill = async (): Promise<void> => {
    if (child) await endServer(child, () => send("SIGKILL"));
  };
  return {
    /** The process id. It changes with `restart()`. Of several processes, the parent's. */
    get pid() {
      return child?.pid as number;
    },
    /** Returns the log of the server since its first start. */
    log: () => readFile(logPathIn(directory), "utf8"),
    /** Suspends the server (SIGSTOP): connections stay open, and no request is answered. */
    pause: () => send("SIGSTOP"),
    /** Resumes it (SIGCONT). */
    resume: () => send("SIGCONT"),
    /** Kills the server at once (SIGKILL), as a crash does, and resolves when it is gone. Keeps its files. */
    kill,
    /** Kills the server if it is running, and starts it again with the same files. Resolves when it answers. */
    async restart(): Promise<void> {
      const attempts = child === undefined ? 1 : restartAttempts;
      await kill();
      child = await launchAgain({ directory, ...program() }, attempts);
    },
    /** Stops the server and removes its files. Safe to call more than once. */
    async stop(): Promise<void> {
      const killer = setTimeout(() => void kill(), stopTimeoutMs);
      if (child) await endServer(child, () => child?.kill(stopSignal));
      clearTimeout(killer);
      await removeDirectory(directory);
    },
  };
}

/** Starts a server, whose killed predecessor keeps the port and shared memory until the system has cleaned them up. */
async function launchAgain(program: ServerProgram, attempts: number): Promise<ChildProcess> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await launchServer(program);
    } catch (error) {
      const isHeld = /Address already in use|pre-existing shared memory block|lock file/.test(String(error));
      if (!isHeld || attempt === attempts) throw error;
      await sleep(200);
    }
  }
}

function logPathIn(directory: string): string {
  return join(directory, "log");
}

/**
 * Starts a process, and resolves when it answers. It does not keep this process alive.
 *
 * @throws {Error} with installation advice if the program is missing, or with its log if it does not start
 */
async function launchServer(program: ServerProgram): Promise<ChildProcess> {
  const { command, args, directory, advice, user, env } = program;
  const logPath = logPathIn(directory);
  const earlier = (await readFile(logPath).catch(() => "")).length;
  const log = openSync(logPath, "a");
  const options = { stdio: ["ignore", log, log] as ["ignore", number, number], env: { ...process.env, ...env } };
  const child = spawn(command, args, { ...options, ...(user && { ...user, cwd: "/" }) });
  closeSync(log);
  child.unref();
  const pidPath = join(directory, "pid");
  child.once("exit", () => rmSync(pidPath, { force: true })); // the system may reuse the process id
  try {
    if (child.pid === undefined) {
      await once(child, "error").catch(() => {});
      throw new Error(`could not run ${command}: ${advice}`);
    }
    await writeFile(pidPath, String(child.pid));
    await answering(child, program);
    return child;
  } catch (error) {
    await endServer(child);
    const lines = String((await readFile(logPath)).subarray(earlier));
    throw lines === "" ? error : new Error(`${String(error)}\n${lines}`);
  }
}

async function answering(child: ChildProcess, { command, isAnswering }: ServerProgram): Promise<void> {
  let answer: unknown;
  for (const endMs = performance.now() + startTimeoutMs; performance.now() < endMs; await sleep(5)) {
    if (hasEnded(child)) throw new Error(`${command} ended at its start`);
    answer = await isAnswering(child.pid as number).catch((error: Error) => error.cause ?? error);
    if (answer === true) return;
  }
  throw new Error(`${command} ${silence}: ${String(answer)}`);
}

function hasEnded({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null;
}

/** Ends a process, by default with SIGKILL, and resolves when it is gone. */
async function endServer(child: ChildProcess, kill: () => unknown = () => child.kill("SIGKILL")): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, "exit");
  child.ref(); // from here on, this process waits for it
  await kill();
  await ended;
}

/** Starts something on a free port, and again on another one if that was taken meanwhile, or it stays silent. */
export async function onFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await freePort());
    } catch (error) {
      if (attempt >= startsMax(String(error))) throw error;
    }
  }
}

/** Returns how many starts are worth an attempt after this error. */
function startsMax(error: string): number {
  // The servers of a Redis Cluster also use the port that is higher by 10 000.
  if (/address already in use|port number too high/i.test(error)) return portsMax;
  return error.includes(silence) ? silentStartsMax : 1;
}
