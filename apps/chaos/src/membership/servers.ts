import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import type { Cleanup } from "@holdfast/testkit/cleanup";

/** A server that holds locks, and writes each change to a file before it replies. */
export interface MemberServer {
  readonly name: string;
  readonly url: string;
  /** Kills the process (SIGKILL), and resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts the killed server again, with its data. */
  restart(): Promise<void>;
  /** Starts the killed server again, without its data. */
  restartEmpty(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Stops the server, and removes its data. */
  stop(): Promise<void>;
}

/** No syncs: the file survives a kill of the process without them, and eleven servers share one disk. */
const serverArgs = ["--appendfsync", "no"];

/** Starts a server. */
export async function startMemberServer(name: string, cleanup: Cleanup): Promise<MemberServer> {
  const server: RedisServer = await startRedisServer({ appendonly: true, args: serverArgs });
  cleanup.defer(() => server.stop());
  let losses = 0;
  return {
    name,
    url: server.url,
    kill: () => server.kill(),
    restart: () => server.restart(),
    restartEmpty: () => server.restart([...serverArgs, "--appenddirname", `restarted-empty-${++losses}`]),
    pause: () => server.pause(),
    resume: () => server.resume(),
    stop: () => server.stop(),
  };
}
