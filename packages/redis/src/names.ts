/** Where a client connects to, as far as its options tell. */
export interface Address {
  /** Default: localhost. */
  readonly host?: string | undefined;
  /** Default: 6379. */
  readonly port?: number | undefined;
  /** Of a Unix domain socket. */
  readonly path?: string | null | undefined;
  /** The number of the logical database. Default: 0. */
  readonly database?: number | undefined;
}

/** The default name of a node on one server: "host:port", or the path of its socket, and the database unless it is 0. */
export function serverName({ host = "localhost", port = 6379, path, database = 0 }: Address): string {
  const server = path || `${host.includes(":") ? `[${host}]` : host}:${port}`;
  return database === 0 ? server : `${server}/${database}`;
}

/** The default name of a node on a cluster: the address of one of its servers, or a random one while none is known. */
export function clusterName(server: Address | undefined): string {
  return `cluster ${server === undefined ? randomName() : serverName(server)}`;
}

/** A name for what does not tell its address: eight hexadecimal digits, as the nodes of a `Redlock` must not share a name. */
export function randomName(): string {
  return Math.floor(Math.random() * 2 ** 32)
    .toString(16)
    .padStart(8, "0");
}
