import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { reapedDirectory } from "./reaper.ts";
import { type RedisReply, redisCommand } from "./redis-command.ts";
import { type TlsEndpoint, tlsEndpoint } from "./redis-tls.ts";
import { removeDirectory } from "./remove-directory.ts";
import { endServer, launchServer, onFreePort } from "./server-process.ts";

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
export type RedisServer = ReturnType<typeof serverOf>;

/**
 * Starts a server on a free port, with its own temporary directory, and resolves when it answers.
 *
 * @throws {Error} with installation advice if the program is missing, or with the server's log if it does not start
 */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const directory = await reapedDirectory();
  try {
    return await onFreePort(async (port) => {
      const tls = options.tls ? await tlsEndpoint(directory) : undefined;
      const complete = { ...options, args: [...(tls?.args ?? []), ...(options.args ?? [])] };
      return serverOf(await launch(port, directory, complete), port, directory, complete, tls?.endpoint);
    });
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
) {
  let child = first;
  let { args: restartArgs = [] } = options;
  const kill = () => endServer(child);
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    /** The path of the Unix domain socket. */
    socketPath: socketPathIn(directory),
    /** The TLS endpoint, if requested. */
    tls,
    /** The process id. It changes with `restart()`. */
    get pid() {
      return child.pid as number;
    },
    /** Sends one command over a new connection. Rejects with the server's message for an error reply. */
    command: (...args: (string | number)[]): Promise<RedisReply> => redisCommand(port, args),
    /** Suspends the process (SIGSTOP): connections stay open, and no command is answered. */
    pause: () => void child.kill("SIGSTOP"),
    /** Resumes the process (SIGCONT). */
    resume: () => void child.kill("SIGCONT"),
    /** Kills the process (SIGKILL), and resolves when it is gone. */
    kill,
    /**
     * Kills the process if it is running, and starts another one on the same port with the same files. Arguments replace
     * the present ones for good.
     */
    async restart(args?: readonly string[]): Promise<void> {
      await kill();
      restartArgs = args ?? restartArgs;
      child = await launch(port, directory, { ...options, args: restartArgs });
    },
    /** Stops the process and removes its files. Safe to call more than once. */
    async stop(): Promise<void> {
      await kill();
      await removeDirectory(directory);
    },
  };
}

function socketPathIn(directory: string): string {
  return join(directory, "socket");
}

function launch(port: number, directory: string, options: RedisServerOptions): Promise<ChildProcess> {
  const { args = [], appendonly = false, env = {} } = options;
  const defaults = [
    ...["--bind", "127.0.0.1", "--port", String(port), "--dir", directory],
    ...["--daemonize", "no", "--unixsocket", socketPathIn(directory)],
    ...["--save", "", "--appendonly", appendonly ? "yes" : "no", "--appendfsync", "always"],
  ];
  return launchServer({
    command: options.binary ?? process.env.HOLDFAST_REDIS_SERVER ?? "redis-server",
    args: [...defaults, ...args],
    directory,
    advice: "install Redis 7 or later (Debian: apt-get install redis-server)",
    env,
    async isAnswering(pid) {
      const reply = String(await redisCommand(port, ["INFO", "server"]).catch(String));
      return reply.includes(`process_id:${pid}\r\n`) || reply.includes("NOAUTH");
    },
  });
}
