import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, rmSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import type { ServerUser } from "./server-user.ts";

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

const silence = `did not answer within ${startTimeoutMs} ms`;

/** Returns the path of a server's log. */
export function logPathIn(directory: string): string {
  return join(directory, "log");
}

/**
 * Starts a process, and resolves when it answers. It does not keep this process alive.
 *
 * @throws {Error} with installation advice if the program is missing, or with its log if it does not start
 */
export async function launchServer(program: ServerProgram): Promise<ChildProcess> {
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
export async function endServer(child: ChildProcess, kill: () => unknown = () => child.kill("SIGKILL")): Promise<void> {
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
