import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { findPostgres } from "./find-postgres.ts";
import { freePort } from "./free-port.ts";
import { signalTree } from "./process-tree.ts";
import { reapedDirectory } from "./reaper.ts";
import { removeDirectory } from "./remove-directory.ts";
import { letIn, type ServerUser, serverUser } from "./server-user.ts";

/** A real PostgreSQL server on 127.0.0.1, with its own temporary directory. */
export interface PostgresServer {
  /** The address and user for clients. The user is a superuser. */
  readonly connectionString: string;
  /** The port on 127.0.0.1. It stays the same after `restart()`. */
  readonly port: number;
  /** The id of the first process, the parent of the others. It changes with `restart()`. */
  readonly pid: number;
  /** Returns the log of the server since its first start. */
  log(): Promise<string>;
  /** Suspends all processes of the server (SIGSTOP): connections stay open, and no statement is answered. */
  pause(): Promise<void>;
  /** Resumes all processes of the server (SIGCONT). */
  resume(): Promise<void>;
  /** Kills all processes of the server at once (SIGKILL), as a crash does. Keeps the data. */
  kill(): Promise<void>;
  /** Kills the server if it runs, and starts it again with the same port and data. Resolves after crash recovery. */
  restart(): Promise<void>;
  /** Stops the server and removes its files. Safe to call more than once. */
  stop(): Promise<void>;
}

/** The settings of a server, by their names in `postgresql.conf`. */
export type PostgresSettings = Readonly<Record<string, string | number>>;

/** What a function that creates a data directory needs. */
export interface PostgresFiles {
  /** The data directory, which does not exist yet. */
  readonly data: string;
  /** Runs a program of PostgreSQL, such as `initdb`, as the user of the server. */
  run(program: string, ...args: readonly string[]): Promise<void>;
  /** Copies another data directory to this one, as the user of the server. */
  copy(data: string): Promise<void>;
}

/** What {@link launchPostgres} needs to know about a server. */
interface Launch {
  readonly program: string;
  readonly directory: string;
  readonly data: string;
  readonly settings: PostgresSettings;
  readonly user: ServerUser;
}

interface Running {
  readonly child: ChildProcess;
  readonly port: number;
}

const startAttempts = 5;
const startTimeoutMs = 60_000;
const stopTimeoutMs = 10_000;

const ownSettings: PostgresSettings = { listen_addresses: "127.0.0.1", unix_socket_directories: "" };

/**
 * Starts a server on a free port, and resolves when it accepts connections.
 *
 * @param createData creates the data directory
 * @param folder the parent of the data directory; by default, a temporary one
 */
export async function launchPostgres(
  createData: (files: PostgresFiles) => Promise<void>,
  settings: PostgresSettings,
  folder?: string,
): Promise<PostgresServer> {
  const programs = await findPostgres();
  if (programs === undefined) {
    throw new Error("there is no PostgreSQL server: install one (Debian: apt-get install postgresql)");
  }
  const directory = await serverDirectory();
  try {
    const user = await serverUser();
    const data = join(folder ?? directory, "data");
    const execute = async (program: string, args: readonly string[]) => {
      await promisify(execFile)(program, args, { ...user, cwd: "/" });
    };
    await createData({
      data,
      run: (program, ...args) => execute(join(programs, program), args),
      copy: (other) => execute("cp", ["-a", other, data]),
    });
    const launch = { program: join(programs, "postgres"), directory, data, settings, user };
    return serverOf(launch, await startOnFreePort(launch));
  } catch (error) {
    await removeDirectory(directory);
    throw error;
  }
}

/** Creates a temporary directory for the user of the server. */
export async function serverDirectory(): Promise<string> {
  const directory = await reapedDirectory();
  await letIn(await serverUser(), directory);
  return directory;
}

function serverOf(launch: Launch, running: Running): PostgresServer {
  const { port } = running;
  let { child } = running;
  const kill = async (): Promise<void> => {
    if (hasEnded(child)) return;
    const ended = once(child, "exit");
    child.ref(); // from here on, this process waits for it
    await signalTree(child.pid as number, "SIGKILL");
    await ended;
    // The system may reuse the process id.
    await rm(join(launch.directory, "pid"), { force: true });
  };
  return {
    connectionString: connectionStringOf(port),
    port,
    get pid() {
      return child.pid as number;
    },
    log: () => readFile(logPathOf(launch), "utf8"),
    pause: () => signalTree(child.pid as number, "SIGSTOP"),
    resume: () => signalTree(child.pid as number, "SIGCONT"),
    kill,
    async restart() {
      await kill();
      child = await startAgain(launch, port);
    },
    async stop() {
      await shutDown(child);
      await removeDirectory(launch.data);
      await removeDirectory(launch.directory);
    },
  };
}

function connectionStringOf(port: number): string {
  return `postgres://holdfast@127.0.0.1:${port}/postgres`;
}

function logPathOf({ directory }: Launch): string {
  return join(directory, "log");
}

async function startOnFreePort(launch: Launch): Promise<Running> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      return { child: await start(launch, port), port };
    } catch (error) {
      // Another process may have taken the port meanwhile.
      const isTaken = String(error).includes("Address already in use");
      if (!isTaken || attempt === startAttempts) throw error;
    }
  }
}

/** Starts a server whose predecessor was killed. */
async function startAgain(launch: Launch, port: number): Promise<ChildProcess> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(launch, port);
    } catch (error) {
      // The killed processes keep their shared memory and the port until the system has cleaned them up.
      const isHeld = /Address already in use|pre-existing shared memory block|lock file/.test(String(error));
      if (!isHeld || attempt === startAttempts) throw error;
      await sleep(200);
    }
  }
}

async function start(launch: Launch, port: number): Promise<ChildProcess> {
  const { program, directory, data, settings, user } = launch;
  const logPath = logPathOf(launch);
  const earlier = (await readFile(logPath, "utf8").catch(() => "")).length;
  const log = openSync(logPath, "a");
  const options = ["-D", data, "-p", String(port)];
  for (const [name, value] of Object.entries({ ...ownSettings, ...settings })) options.push("-c", `${name}=${value}`);
  const child = spawn(program, options, { stdio: ["ignore", log, log], cwd: "/", ...user });
  closeSync(log);
  child.unref();
  try {
    await writeFile(join(directory, "pid"), String(child.pid));
    await answering(child, port, data);
    return child;
  } catch (error) {
    await shutDown(child);
    throw new Error(`PostgreSQL did not start: ${error}\n${(await readFile(logPath, "utf8")).slice(earlier)}`);
  }
}

/** Resolves when this server, and not another one, accepts connections. */
async function answering(child: ChildProcess, port: number, data: string): Promise<void> {
  for (const endMs = performance.now() + startTimeoutMs; performance.now() < endMs; await sleep(20)) {
    if (hasEnded(child)) throw new Error("it has ended");
    const client = new pg.Client({ connectionString: connectionStringOf(port) });
    client.on("error", () => {});
    try {
      await client.connect();
      const { rows } = await client.query("SHOW data_directory");
      if (rows[0].data_directory === data) return;
    } catch {
      // still starting
    } finally {
      await client.end().catch(() => {});
    }
  }
  throw new Error(`it did not answer within ${startTimeoutMs} ms`);
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/** Stops the server without waiting for clients. */
async function shutDown(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  child.ref();
  const ended = once(child, "exit");
  child.kill("SIGINT");
  const killer = setTimeout(() => void signalTree(child.pid as number, "SIGKILL"), stopTimeoutMs);
  await ended;
  clearTimeout(killer);
}
