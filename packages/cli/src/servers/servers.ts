import { setTimeout as sleep } from "node:timers/promises";
import type { RedisNode, RedisNodeOptions } from "@holdfast/ioredis";
import type { Redis } from "ioredis";
import { UsageError } from "../exit-codes.ts";
import type { ServerAddress } from "../options/server-address.ts";
import type { ServerOptions, TlsOptions } from "../options/server-options.ts";
import { withoutArguments } from "../output/print.ts";
import { wrongSchemeOf } from "./wrong-scheme.ts";

/** A lock server with a connection that reconnects automatically. */
export interface Server {
  /** The host and port or the path of the socket, and the database unless it is 0. Never a password. */
  readonly name: string;
  /**
   * The connection. It has an `error` listener. While it is not ready, commands wait for a bounded number of retries.
   */
  readonly client: Redis;
  /** The lock node on this connection. */
  readonly node: RedisNode;
  /** Creates another lock node on this connection. */
  makeNode(options: RedisNodeOptions): RedisNode;
  /** Resolves when the first attempt to connect has ended, to whether it succeeded. Never rejects. */
  readonly firstConnection: Promise<boolean>;
  /** The reason why there is no connection; undefined if there is one, or the reason is not known yet. */
  connectionError(): Error | undefined;
  /** Whether the address says TLS for a port without it, or the reverse. */
  hasWrongScheme(): boolean;
}

/** How long to wait for a server at the start; later it is added as soon as it connects. */
const connectTimeoutMs = 5_000;
/** A TLS handshake that takes longer, in milliseconds, may be one that the port does not understand. */
const handshakeMs = 300;
/** How long to wait for the other servers at the start once a quorum is connected. */
const lateMs = 250;
/** A connection without a reply for this long counts as lost. */
const silenceMs = 10_000;
const reconnectDelayMaxMs = 1_000;
/** How long a server may take to close its side of the connection. */
const closeTimeoutMs = 200;

/**
 * Starts connecting to the servers, in the given order, and keeps retrying until {@link closeServers}; see {@link
 * untilConnected}.
 *
 * @throws {UsageError} if a server is named twice
 */
export async function openServers(options: ServerOptions): Promise<readonly Server[]> {
  if (options.addresses.length === 0) return [];
  const openServer = await serverOpener(options);
  const names = new Set<string>();
  const servers: Server[] = [];
  try {
    for (const address of options.addresses) {
      const server = openServer(address);
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

/** Closes all connections. Afterwards they do not keep the process alive. */
export async function closeServers(servers: readonly Server[]): Promise<void> {
  await Promise.all(servers.map(({ node }) => node.close()));
  for (const { client } of servers) client.disconnect();
}

/** Loads the client library and returns a function that connects to a server. */
async function serverOpener(options: ServerOptions): Promise<(address: ServerAddress) => Server> {
  const [{ Redis }, { ioredisNode }] = await Promise.all([import("ioredis"), import("@holdfast/ioredis")]);
  return (address) => {
    const client = new Redis(redisOptions(address, options.tls));
    return serverOf(client, (nodeOptions) => ioredisNode(client, nodeOptions), address, options);
  };
}

function serverOf(
  client: Redis,
  makeNode: Server["makeNode"],
  address: ServerAddress,
  { prefix, restartGuardMs }: ServerOptions,
): Server {
  let problem: Error | undefined;
  client.on("error", (error: Error & { readonly command?: { readonly name: string } }) => {
    problem = error;
    // If nothing is thrown here, the client continues in another database than the requested one.
    if (error.command?.name === "select") throw new Error(withoutArguments(error.message));
  });
  const node = makeNode({ prefix, restartGuardMs });
  const connected = client.connect().then(
    () => true,
    () => false,
  );
  let wrongScheme: Error | undefined;
  client.on("ready", () => {
    problem = undefined;
    wrongScheme = undefined;
  });
  const attempt = async (): Promise<boolean> => {
    const isReady = await (address.isTls ? Promise.race([connected, pause(handshakeMs)]) : connected);
    if (isReady) return true;
    const maySchemeBeWrong = isReady === undefined || !isUnrelatedToScheme(problem);
    if (maySchemeBeWrong) wrongScheme = await wrongSchemeOf(address);
    return wrongScheme === undefined ? connected : false;
  };
  return {
    name: node.name,
    client,
    node,
    makeNode,
    firstConnection: attempt(),
    connectionError: () => wrongScheme ?? problem,
    hasWrongScheme: () => wrongScheme !== undefined,
  };
}

function pause(ms: number): Promise<undefined> {
  return sleep(ms, undefined, { ref: false });
}

/** Returns whether an error shows that the port was reached and understood, or not reached at all. */
function isUnrelatedToScheme(error: NodeJS.ErrnoException | undefined): boolean {
  if (error?.name === "ReplyError") return true;
  return error?.code !== undefined && !/^(ECONNRESET|EPIPE|EPROTO|ERR_SSL_.*)$/.test(error.code);
}

function redisOptions({ isTls, ...where }: ServerAddress, tls: TlsOptions) {
  return {
    ...where,
    ...(isTls && { tls }),
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    disconnectTimeout: closeTimeoutMs,
    socketTimeout: silenceMs,
    retryStrategy: (times: number) => Math.min(50 * 2 ** Math.min(times, 10), reconnectDelayMaxMs),
    // The ready check calls INFO, and prints a warning if the user may not.
    enableReadyCheck: false,
    connectionName: "holdfast",
  };
}
