import { setTimeout as sleep } from "node:timers/promises";
import { UsageError } from "../exit-codes.ts";
import { etcdKind } from "./etcd/etcd-kind.ts";
import { mysqlKind } from "./mysql/mysql-kind.ts";
import { postgresKind } from "./postgres/postgres-kind.ts";
import { redisKind } from "./redis/redis-kind.ts";
import { BadAddress, type ConnectOptions, connectTimeoutMs, type Server, type ServerKind } from "./server.ts";
import { haveQuorum, type ServerSet } from "./sets.ts";
import { sqliteKind } from "./sqlite/sqlite-kind.ts";

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
  const names = new Set<string>();
  const servers: Server[] = [];
  try {
    for (const { kind, where } of options.addresses) {
      const server = await kind.open(where, options);
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
  const servers = [...new Set(sets.flatMap(({ members }) => members))];
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, ...(interrupted === undefined ? [] : [interrupted])]);
  const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {});
  const ready = new Set<Server>();
  const quorum = new Promise<void>((resolve) => {
    for (const server of servers) {
      void server.firstConnection.then((isConnected) => {
        if (isConnected) ready.add(server);
        if (haveQuorum(sets, (each) => ready.has(each))) resolve();
      });
    }
  });
  const all = Promise.all(servers.map(({ firstConnection }) => firstConnection));
  await Promise.race([all, quorum.then(() => pause(lateMs)), pause(connectTimeoutMs)]);
  ended.abort();
}

/** Closes all connections. */
export async function closeServers(servers: readonly Server[]): Promise<void> {
  await Promise.all(servers.map((server) => server.close()));
}

/** All kinds of servers. An address without a scheme is one of the last. Each kind gets only addresses that it parsed. */
const kinds = [
  postgresKind,
  mysqlKind,
  etcdKind,
  sqliteKind,
  redisKind,
] as readonly unknown[] as readonly ServerKind<unknown>[];

/** The address of a server of any kind, and the login. */
export interface ServerAddress {
  readonly kind: ServerKind<unknown>;
  /** The parsed address, which only the kind can read. */
  readonly where: unknown;
}

/**
 * Parses the address of a server. The text may contain a password, so an error never quotes any of it.
 *
 * @param what names the address in an error, such as "node 2 of HOLDFAST_NODES"
 * @throws {UsageError} with the problem and the valid forms
 */
export function parseServerAddress(text: string, what: string): ServerAddress {
  const kind = kinds.find(({ scheme }) => scheme.test(text));
  if (kind === undefined) {
    const forms = kinds.map((each) => each.forms).join("; ");
    throw new UsageError(`${what} has an unknown scheme; an address is ${forms}`);
  }
  try {
    return { kind, where: kind.parse(text) };
  } catch (error) {
    if (!(error instanceof BadAddress)) throw error;
    throw new UsageError(`${what} ${error.message}; an address is ${kind.forms}`);
  }
}
