import { UsageError } from "../exit-codes.ts";
import { type ServerAddress, serverOpener } from "./kinds.ts";
import { type ConnectOptions, connectTimeoutMs, type Server } from "./server.ts";

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
 * Resolves when every server is connected or has refused; shortly after a majority is connected, because one
 * unreachable server must not delay everything; and after a few seconds in any case. Other servers are added when they
 * connect.
 *
 * @param interrupted resolves it at once when it aborts
 */
export async function untilConnected(servers: readonly Server[], interrupted?: AbortSignal): Promise<void> {
  if (servers.length === 0) return;
  const quorum = quorumOf(servers.length);
  const { promise, resolve } = deferred();
  let timer = setTimeout(resolve, connectTimeoutMs);
  interrupted?.addEventListener("abort", resolve);
  if (interrupted?.aborted) resolve();
  let settled = 0;
  let ready = 0;
  for (const { firstConnection } of servers) {
    void firstConnection.then((isReady) => {
      settled += 1;
      if (isReady) ready += 1;
      if (settled === servers.length) resolve();
      if (!isReady || ready !== quorum) return;
      clearTimeout(timer);
      timer = setTimeout(resolve, lateMs);
    });
  }
  await promise;
  clearTimeout(timer);
}

/** Returns the majority of a number of servers. */
export function quorumOf(count: number): number {
  return Math.floor(count / 2) + 1;
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Closes all connections. */
export async function closeServers(servers: readonly Server[]): Promise<void> {
  await Promise.all(servers.map((server) => server.close()));
}
