import { randomUUID } from "node:crypto";

/** The address that a client connects to, as its options give it. */
export interface Address {
  /** Default: localhost. */
  readonly host?: string | undefined;
  /** Default: 6379. */
  readonly port?: number | undefined;
  /** The path of a Unix domain socket. */
  readonly path?: string | null | undefined;
  /** The number of the logical database. Default: 0. */
  readonly database?: number | undefined;
}

/**
 * Returns the default name of a node on one server: "host:port" or the path of its socket, and the database unless it
 * is 0.
 *
 * @param address where the client connects to
 *
 * @example
 * ```ts
 * import { serverName } from "@holdfast/redis";
 *
 * console.log(serverName({ host: "redis-1", port: 6380, database: 2 })); // "redis-1:6380/2"
 * ```
 */
export function serverName({ host = "localhost", port = 6379, path, database = 0 }: Address): string {
  const server = path || `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return database === 0 ? server : `${server}/${database}`;
}

/**
 * Returns the default name of a node on a cluster: the address of one of its servers, or a random name if none is
 * known.
 *
 * @param server one of the cluster's servers
 *
 * @example
 * ```ts
 * import { clusterName } from "@holdfast/redis";
 *
 * console.log(clusterName({ host: "redis-1", port: 7000 })); // "cluster redis-1:7000"
 * ```
 */
export function clusterName(server: Address | undefined): string {
  return `cluster ${server === undefined ? randomName() : serverName(server)}`;
}

/**
 * Returns a random name for a client whose address is unknown: eight hexadecimal digits, because the nodes of a
 * `Redlock` must not share a name.
 *
 * @example
 * ```ts
 * import { randomName } from "@holdfast/redis";
 *
 * console.log(`my-client ${randomName()}`); // "my-client 5f3a91c2", for example
 * ```
 */
export function randomName(): string {
  return randomUUID().slice(0, 8);
}
