import { UsageError } from "../exit-codes.ts";
import { type ServerAddress, serverOpener } from "./kinds.ts";
import { type ConnectOptions, connectTimeoutMs, type Server } from "./server.ts";
import { haveQuorum, type ServerSet } from "./sets.ts";

/** How long to wait for the other servers at the start once a quorum is connected, in milliseconds. */
const lateMs = 250;

/**
 * Starts connecting to the servers, in the given order, and keeps retrying until {@link closeServers}; see {@link
 * untilConnected}.
 *
 * @throws {UsageError} if a server is named twice, or a client library is missing
 */
export async function openServers(
  options: ConnectOptions & { readonly addresses: readonly ServerAddress[] },
): Promise<readonly Server[]> {
  const openServer = await serverOpener(options.addresses, options);
  const names = new Set<string>();
  const servers: Server[] = [];
  try {
    for (const address of options.addresses) {
      const server = await openServer(address);
      servers.push(server);
      if (names.has(server.name)) throw new UsageError(`${server.name} was named twice: each server votes once`);
      names.add(server.name);
    }
    return servers;
  } catch (error) {
    void closeServers(servers);
    throw error;
  }
}

/**
 * Resolves when every server is connected or has refused; shortly after a majority of each set is connected, because one
 * unreachable server must not delay everything; and after a few seconds in any case. Other servers are added when they
 * connect.
 *
 * @param interrupted resolves it at once when it aborts
 */
export async function untilConnected(sets: readonly ServerSet<Server>[], interrupted?: AbortSignal): Promise<void> {
  const servers = new Set(sets.flatMap(({ members }) => members));
  if (servers.size === 0) return;
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    timer = setTimeout(resolve, connectTimeoutMs);
    interrupted?.addEventListener("abort", () => resolve());
    if (interrupted?.aborted) resolve();
    let settled = 0;
    const ready = new Set<Server>();
    const isReady = (server: Server): boolean => ready.has(server);
    for (const server of servers) {
      void server.firstConnection.then((isConnected) => {
        settled += 1;
        if (settled === servers.size) resolve();
        if (!isConnected || haveQuorum(sets, isReady)) return;
        ready.add(server);
        if (!haveQuorum(sets, isReady)) return;
        clearTimeout(timer);
        timer = setTimeout(resolve, lateMs);
      });
    }
  });
  clearTimeout(timer);
}

/** Closes all connections. */
export async function closeServers(servers: readonly Server[]): Promise<void> {
  await Promise.all(servers.map((server) => server.close()));
}
