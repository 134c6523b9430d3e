import { setTimeout as sleep } from "node:timers/promises";
import type { RedisNode, RedisNodeOptions } from "@holdfast/ioredis";
import type { Redis } from "ioredis";
import { UsageError } from "../exit-codes.ts";
import type { ServerAddress } from "../options/server-address.ts";
import type { ServerOptions, TlsOptions } from "../options/server-options.ts";
import { withoutArguments } from "../output/print.ts";
import { wrongSchemeOf } from "./wrong-scheme.ts";

/** One lock server, and a connection to it that comes back whenever it is lost. */
export interface Server {
  /** The host and port, or the path of its socket, and the database unless it is 0. Never a password. */
  readonly name: string;
  /** The connection. It has an `error` listener; commands wait while it is not ready, for a bounded number of tries. */
  readonly client: Redis;
  /** The lock node on this connection. */
  readonly node: RedisNode;
  /** Makes another lock node on this connection. */
  makeNode(options: RedisNodeOptions): RedisNode;
  /** Resolves when the first attempt to connect has ended, with whether it succeeded. Never rejects. */
  readonly firstConnection: Promise<boolean>;
  /** Why there is no connection now, or undefined if there is one, or it is not known yet. */
  connectionError(): Error | undefined;
  /** Whether its address names TLS for a port without it, or the other way round. */
  hasWrongScheme(): boolean;
}

/** How long a server is tried for, at the start, before it is left to come later. */
const connectTimeoutMs = 5_000;
/** A TLS handshake that takes longer than this may be one that the port does not understand, in milliseconds. */
const handshakeMs = 300;
/** How much longer than the quorum the rest of the servers may take at the start. */
const lateMs = 250;
/** So long without any answer, and a connection counts as lost. */
const silenceMs = 10_000;
const reconnectDelayMaxMs = 1_000;
/** How long a server may take to close its side of the connection. */
const closeTimeoutMs = 200;

/**
 * Begins to connect to the servers, in the order in which they were named. Whatever is down is tried again until
 * {@link closeServers}; see {@link untilConnected}.
 *
 * @throws {UsageError} when a server was named twice
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
 * Resolves when the servers are connected as far as they are at hand: when each is, or has refused; soon after a majority is,
 * as one that is gone must not keep everything waiting; and after a few seconds in any case. What is not connected by then
 * joins in later.
 *
 * @param interrupted ends it at once when it aborts
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

/** How many of so many servers make a majority. */
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

/** Closes all connections. Nothing keeps the process alive afterwards. */
export async function closeServers(servers: readonly Server[]): Promise<void> {
  await Promise.all(servers.map(({ node }) => node.close()));
  for (const { client } of servers) client.disconnect();
}

/** Loads the client library, and returns what connects to one server. */
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
    // It would go on in another database than the one that was asked for, if nothing was thrown here.
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
    const mayBeScheme = isReady === undefined || !isAboutOtherThings(problem);
    if (mayBeScheme) wrongScheme = await wrongSchemeOf(address);
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

/** Whether an error shows that the port was reached and understood, or not reached at all. */
function isAboutOtherThings(error: NodeJS.ErrnoException | undefined): boolean {
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
    // It asks for INFO, and prints a warning where the user may not.
    enableReadyCheck: false,
    connectionName: "holdfast",
  };
}
