import { join } from "node:path";
import { type RedisReply, redisCommand } from "./redis-command.ts";
import { tlsEndpoint } from "./redis-tls.ts";
import { controlServer, inServerDirectory, onFreePort } from "./server-process.ts";

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
export type RedisServer = Awaited<ReturnType<typeof startRedisServer>>;

/**
 * Starts a server on a free port, with its own temporary directory, and resolves when it answers.
 *
 * @throws {Error} with installation advice if the program is missing, or with the server's log if it does not start
 */
export function startRedisServer(options: RedisServerOptions = {}) {
  return inServerDirectory(undefined, (directory) => onFreePort((port) => startOn(port, directory, options)));
}

async function startOn(port: number, directory: string, options: RedisServerOptions) {
  const tls = options.tls ? await tlsEndpoint(directory) : undefined;
  const socketPath = join(directory, "socket");
  const defaults = [
    ...["--bind", "127.0.0.1", "--port", String(port), "--dir", directory],
    ...["--daemonize", "no", "--unixsocket", socketPath],
    ...["--save", "", "--appendonly", options.appendonly ? "yes" : "no", "--appendfsync", "always"],
  ];
  let args: readonly string[] = [...(tls?.args ?? []), ...(options.args ?? [])];
  const server = controlServer(directory, () => ({
    command: options.binary ?? process.env.HOLDFAST_REDIS_SERVER ?? "redis-server",
    args: [...defaults, ...args],
    advice: "install Redis 7 or later (Debian: apt-get install redis-server)",
    env: options.env ?? {},
    async isAnswering(pid) {
      const reply = String(await redisCommand(port, ["INFO", "server"]).catch(String));
      return reply.includes(`process_id:${pid}\r\n`) || reply.includes("NOAUTH");
    },
  }));
  const { restart } = server;
  await restart();
  return Object.assign(server, {
    port,
    url: `redis://127.0.0.1:${port}`,
    /** The path of the Unix domain socket. */
    socketPath,
    /** The TLS endpoint, if requested. */
    tls: tls?.endpoint,
    /** Sends one command over a new connection. Rejects with the server's message for an error reply. */
    command: (...command: (string | number)[]): Promise<RedisReply> => redisCommand(port, command),
    /**
     * Kills the process if it is running, and starts another one on the same port with the same files. Arguments replace
     * the present ones for good.
     */
    async restart(replaced?: readonly string[]): Promise<void> {
      args = replaced ?? args;
      await restart();
    },
  });
}
