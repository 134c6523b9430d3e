import type { RedisServer } from "@holdfast/testkit";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import { startServer } from "../world/servers.ts";

/** A server that holds locks, and writes each change to a file before it replies. */
export interface MemberServer extends RedisServer {
  readonly name: string;
  /** Starts the killed server again, without its data. */
  restartEmpty(): Promise<void>;
}

/** No syncs: the file survives a kill of the process without them, and eleven servers share one disk. */
const serverArgs = ["--appendfsync", "no"];

/** Starts a server. */
export async function startMemberServer(name: string, cleanup: Cleanup): Promise<MemberServer> {
  const server = await startServer(cleanup, { appendonly: true, args: serverArgs });
  let losses = 0;
  const restartEmpty = (): Promise<void> =>
    server.restart([...serverArgs, "--appenddirname", `restarted-empty-${++losses}`]);
  return Object.assign(server, { name, restartEmpty });
}
