import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { chmod, chown, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import pg from "pg";
import { findPostgres } from "./find-postgres.ts";
import { freePort } from "./free-port.ts";
import { reapedDirectory } from "./reaper.ts";

/** A real PostgreSQL server on 127.0.0.1, with its own temporary directory. */
export interface PostgresServer {
  /** The address and user for clients. */
  readonly connectionString: string;
  /** The port on 127.0.0.1. */
  readonly port: number;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
}

/** The user of the server process: PostgreSQL refuses to run as root. */
type User = { readonly uid: number; readonly gid: number } | undefined;

const startAttempts = 5;
const startTimeoutMs = 60_000;
const stopTimeoutMs = 10_000;

const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories="];

/** Options of {@link startPostgresServer}. */
export interface PostgresServerOptions {
  /** Whether a commit is synced to disk before the reply. Default: false, as no data has to survive a crash. */
  readonly fsync?: boolean;
}

/** Starts a server on a free port, and resolves when it accepts connections. */
export async function startPostgresServer({ fsync = false }: PostgresServerOptions = {}): Promise<PostgresServer> {
  const programs = await findPostgres();
  if (programs === undefined) {
    throw new Error("there is no PostgreSQL server: install one (Debian: apt-get install postgresql)");
  }
  const directory = await reapedDirectory();
  const remove = () => rm(directory, { recursive: true, force: true });
  try {
    const user = await serverUser();
    if (user) await letIn(user, directory);
    const data = join(directory, "data");
    const options = ["--username=holdfast", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
    await promisify(execFile)(join(programs, "initdb"), [...options, data], { ...user, cwd: "/" });
    const sync = `fsync=${fsync ? "on" : "off"}`;
    const { child, port, connectionString } = await launch(join(programs, "postgres"), directory, data, sync, user);
    return {
      connectionString,
      port,
      async stop() {
        await end(child);
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Returns the other user to run as, if this process runs as root. */
async function serverUser(): Promise<User> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ["postgres", "nobody"]) {
    try {
      const [uid, gid] = await Promise.all(["-u", "-g"].map((option) => promisify(execFile)("id", [option, name])));
      return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) };
    } catch {} // there is no such user
  }
  throw new Error("PostgreSQL does not run as root, and there is no user postgres or nobody");
}

async function letIn({ uid, gid }: NonNullable<User>, directory: string): Promise<void> {
  await chown(directory, uid, gid);
  await chmod(dirname(directory), 0o711);
}

async function launch(
  program: string,
  directory: string,
  data: string,
  sync: string,
  user: User,
): Promise<{ child: ChildProcess; port: number; connectionString: string }> {
  const logPath = join(directory, "log");
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const log = openSync(logPath, "w");
    const options = ["-D", data, "-p", String(port), ...[...settings, sync].flatMap((setting) => ["-c", setting])];
    const child = spawn(program, options, { stdio: ["ignore", log, log], cwd: "/", ...user });
    closeSync(log);
    child.unref();
    const connectionString = `postgres://holdfast@127.0.0.1:${port}/postgres`;
    try {
      await writeFile(join(directory, "pid"), String(child.pid));
      await answering(child, connectionString);
      return { child, port, connectionString };
    } catch (error) {
      await end(child);
      const lines = await readFile(logPath, "utf8");
      // Another process may have taken the port meanwhile.
      const isTaken = lines.includes("Address already in use");
      if (!isTaken || attempt === startAttempts) throw new Error(`PostgreSQL did not start: ${error}\n${lines}`);
    }
  }
}

async function answering(child: ChildProcess, connectionString: string): Promise<void> {
  for (const endMs = performance.now() + startTimeoutMs; performance.now() < endMs; await sleep(20)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("it has ended");
    const client = new pg.Client({ connectionString });
    client.on("error", () => {});
    try {
      await client.connect();
      return;
    } catch {
      // still starting
    } finally {
      await client.end().catch(() => {});
    }
  }
  throw new Error(`it did not answer within ${startTimeoutMs} ms`);
}

/** Stops the server without waiting for clients. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.ref(); // from here on, this process waits for it
  const ended = once(child, "exit");
  child.kill("SIGINT");
  const killer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
  await ended;
  clearTimeout(killer);
}
