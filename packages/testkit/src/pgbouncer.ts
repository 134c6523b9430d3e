import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { freePort } from "./free-port.ts";
import { reapedDirectory } from "./reaper.ts";
import { removeDirectory } from "./remove-directory.ts";
import { letIn, serverUser } from "./server-user.ts";

/** A real PgBouncer on 127.0.0.1, between clients and a PostgreSQL server. */
export interface PgBouncer {
  /** The address and user for clients. */
  readonly connectionString: string;
  /** The port on 127.0.0.1. */
  readonly port: number;
  /** Stops the process and removes its files. */
  stop(): Promise<void>;
}

/** Options of {@link startPgBouncer}. */
export interface PgBouncerOptions {
  /** How long a client keeps a connection to the server. */
  readonly poolMode: "session" | "transaction" | "statement";
  /** The number of connections to the server. Default: 4. */
  readonly poolSize?: number;
}

const startAttempts = 5;
const startTimeoutMs = 15_000;

/**
 * Starts a PgBouncer on a free port, and resolves when it forwards statements.
 *
 * @param server a server that accepts the user `holdfast` without a password
 * @throws {Error} with installation advice if the program is missing, or with its log if it does not start
 */
export async function startPgBouncer(
  server: { readonly port: number },
  { poolMode, poolSize = 4 }: PgBouncerOptions,
): Promise<PgBouncer> {
  const directory = await reapedDirectory();
  const remove = () => removeDirectory(directory);
  try {
    await letIn(await serverUser(), directory);
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      const config = {
        ...{ listen_addr: "127.0.0.1", listen_port: port, unix_socket_dir: "" },
        ...{ auth_type: "trust", auth_file: join(directory, "users.txt") },
        ...{ pool_mode: poolMode, default_pool_size: poolSize, max_client_conn: 1_000 },
      };
      try {
        const child = await launch(directory, server.port, config);
        return { connectionString: connectionStringOf(port), port, stop: () => end(child).then(remove) };
      } catch (error) {
        // Another process may have taken the port meanwhile.
        if (attempt === startAttempts || !String(error).includes("Address already in use")) throw error;
      }
    }
  } catch (error) {
    await remove();
    throw error;
  }
}

function connectionStringOf(port: number): string {
  return `postgres://holdfast@127.0.0.1:${port}/postgres`;
}

async function launch(
  directory: string,
  serverPort: number,
  config: Readonly<Record<string, string | number>> & { readonly listen_port: number; readonly auth_file: string },
): Promise<ChildProcess> {
  await writeFile(config.auth_file, '"holdfast" ""\n');
  const lines = Object.entries(config).map(([name, value]) => `${name} = ${value}`);
  const file = join(directory, "pgbouncer.ini");
  const databases = `* = host=127.0.0.1 port=${serverPort}`;
  await writeFile(file, ["[databases]", databases, "[pgbouncer]", ...lines, ""].join("\n"));
  const logPath = join(directory, "log");
  const log = openSync(logPath, "w");
  const user = await serverUser(); // PgBouncer refuses to run as root
  const child = spawn("pgbouncer", [file], { stdio: ["ignore", log, log], cwd: "/", ...user });
  closeSync(log);
  child.unref();
  try {
    await started(child);
    await writeFile(join(directory, "pid"), String(child.pid));
    await answering(child, connectionStringOf(config.listen_port));
    return child;
  } catch (error) {
    await end(child);
    const text = await readFile(logPath, "utf8");
    throw text === "" ? error : new Error(`${error}\n${text}`);
  }
}

async function started(child: ChildProcess): Promise<void> {
  if (child.pid !== undefined) return;
  await once(child, "error").catch(() => {});
  throw new Error("could not run pgbouncer: install it (Debian: apt-get install pgbouncer)");
}

async function answering(child: ChildProcess, connectionString: string): Promise<void> {
  for (const endMs = performance.now() + startTimeoutMs; performance.now() < endMs; await sleep(20)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("pgbouncer ended at its start");
    const client = new pg.Client({ connectionString });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query("SELECT 1");
      return;
    } catch {
      // still starting
    } finally {
      await client.end().catch(() => {});
    }
  }
  throw new Error(`pgbouncer did not answer within ${startTimeoutMs} ms`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.ref();
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
