import { UsageError } from "../exit-codes.ts";
import { etcdKind } from "./etcd/etcd-kind.ts";
import { mysqlKind } from "./mysql/mysql-kind.ts";
import { postgresKind } from "./postgres/postgres-kind.ts";
import { redisKind } from "./redis/redis-kind.ts";
import { BadAddress, type ConnectOptions, type OpenServer, type ServerKind } from "./server.ts";
import { sqliteKind } from "./sqlite/sqlite-kind.ts";

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

/** Loads the client libraries for these addresses, and returns a function that connects to each. */
export async function serverOpener(
  addresses: readonly ServerAddress[],
  options: ConnectOptions,
): Promise<OpenServer<ServerAddress>> {
  const used = [...new Set(addresses.map(({ kind }) => kind))];
  const openers = new Map(await Promise.all(used.map(async (kind) => [kind, await kind.load(options)] as const)));
  return ({ kind, where }) => (openers.get(kind) as OpenServer<unknown>)(where);
}
