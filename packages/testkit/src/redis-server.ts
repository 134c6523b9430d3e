import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import { reapedDirectory } from "./reaper.ts";
import { type RedisReply, redisCommand } from "./redis-command.ts";
import { type TlsEndpoint, tlsEndpoint } from "./redis-tls.ts";
import { removeDirectory } from "./remove-directory.ts";

/** Options of {@link startRedisServer}. By default, the server keeps everything in memory. */
export interface RedisServerOptions {
  /** Further arguments of `redis-server`, such as `["--maxmemory", "10mb"]`. They override the defaults. */
  readonly args?: readonly string[];
  /** Whether each write is synced to disk before the reply, so that `restart()` keeps the data. Default: false. */
  readonly appendonly?: boolean;
  /** The program to run. Default: `$HOLDFAST_REDIS_SERVER`, or else `redis-server`. */
  readonly binary?: string;
  /** Environment variables, in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the server also accepts TLS, with a new certificate. Default: false. */
  readonly tls?: boolean;
}

/** A real `redis-server` on 127.0.0.1 that a test can pause, kill and restart. */
export interface RedisServer {
  readonly port: number;
  /** `redis://127.0.0.1:port` */
  readonly url: string;
  /** The path of the Unix domain socket. */
  readonly socketPath: string;
  /** The TLS endpoint, if requested. */
  readonly tls: TlsEndpoint | undefined;
  /** The process id. It changes with `restart()`. */
  readonly pid: number;
  /** Sends one command over a new connection. Rejects with the server's message for an error reply. */
  command(...args: (string | number)[]): Promise<RedisReply>;
  /** Suspends the process (SIGSTOP): connections stay open, and no command is answered. */
  pause(): void;
  /** Resumes the process (SIGCONT). */
  resume(): void;
  /** Kills the process (SIGKILL), and resolves when it is gone. */
  kill(): Promise<void>;
  /**
   * Kills the process if it is running, and starts another one on the same port with the same files. Arguments replace
   * the present ones for good.
   */
  restart(args?: readonly string[]): Promise<void>;
  /** Stops the process and removes its files. Safe to call more than once. */
  stop(): Promise<void>;
}

const startAttempts = 20;
const startTimeoutMs = 15_000;

/** Another process may have taken the port meanwhile. A cluster also uses the port 10 000 above. */
const anotherPortMayDo = /Address already in use|port number too high/;

/**
 * Starts a server on a free port, with its own temporary directory, and resolves when it answers.
 *
 * @throws {Error} with installation advice if the program is missing, or with the server's log if it does not start
 */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const directory = await reapedDirectory();
  try {
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      const tls = options.tls ? await tlsEndpoint(directory) : undefined;
      const complete = { ...options, args: [...(tls?.args ?? []), ...(options.args ?? [])] };
      try {
        const child = await launch(port, directory, complete);
        return serverOf(child, port, directory, complete, tls?.endpoint);
      } catch (error) {
        if (attempt === startAttempts || !anotherPortMayDo.test(String(error))) throw error;
      }
    }
  } catch (error) {
    await removeDirectory(directory);
    throw error;
  }
}

function serverOf(
  first: ChildProcess,
  port: number,
  directory: string,
  options: RedisServerOptions,
  tls: TlsEndpoint | undefined,
): RedisServer {
  let child = first;
  let { args: restartArgs = [] } = options;
  const kill = async () => {
    await end(child);
    // The system may reuse the process id.
    await rm(join(directory, "pid"), { force: true });
  };
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    socketPath: socketPathIn(directory),
    tls,
    get pid() {
      return child.pid as number;
    },
    command: (...args) => redisCommand(port, args),
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    kill,
    async restart(args) {
      await kill();
      restartArgs = args ?? restartArgs;
      child = await launch(port, directory, { ...options, args: restartArgs });
    },
    async stop() {
      await kill();
      await removeDirectory(directory);
    },
  };
}

function socketPathIn(directory: string): string {
  return join(directory, "socket");
}

async function launch(port: number, directory: string, options: RedisServerOptions): Promise<ChildProcess> {
  const { args = [], appendonly = false } = options;
  const binary = options.binary ?? process.env.HOLDFAST_REDIS_SERVER ?? "redis-server";
  const defaults = [
    ...["--bind", "127.0.0.1", "--port", String(port), "--dir", directory],
    ...["--daemonize", "no", "--pidfile", join(directory, "pid"), "--unixsocket", socketPathIn(directory)],
    ...["--save", "", "--appendonly", appendonly ? "yes" : "no", "--appendfsync", "always"],
  ];
  const logPath = join(directory, "redis.log");
  const log = openSync(logPath, "w");
  const env = { ...process.env, ...options.env };
  const child = spawn(binary, [...defaults, ...args], { stdio: ["ignore", log, log], env });
  closeSync(log);
  child.unref();
  const failed = new Promise<never>((_, reject) => {
    child.once("error", () =>
      reject(new Error(`could not run ${binary}: install Redis 7 or later (Debian: apt-get install redis-server)`)),
    );
  });
  try {
    await Promise.race([failed, answering(child, port)]);
  } catch (error) {
    await end(child);
    const lines = await readFile(logPath, "utf8");
    throw lines === "" ? error : new Error(`${String(error)}\n${lines}`);
  }
  return child;
}

/** Resolves when this process, and not another one, answers on the port. */
async function answering(child: ChildProcess, port: number): Promise<void> {
  const deadlineMs = performance.now() + startTimeoutMs;
  while (performance.now() < deadlineMs) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("redis-server ended at its start");
    const reply = await redisCommand(port, ["INFO", "server"]).catch(String);
    if (String(reply).includes(`process_id:${child.pid}\r\n`) || String(reply).includes("NOAUTH")) return;
    await sleep(5);
  }
  throw new Error(`redis-server did not answer within ${startTimeoutMs} ms`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.ref();
  child.kill("SIGKILL");
  await ended;
}
