import { type AddressForm, BadAddress, decodePercents } from "../server.ts";

/** The address of one server, and the login. */
export interface RedisAddress {
  /** The host, for TCP. */
  readonly host?: string;
  /** The port, for TCP. */
  readonly port?: number;
  /** The path of a Unix domain socket. */
  readonly path?: string;
  /** Whether the connection is encrypted. */
  readonly isTls: boolean;
  readonly username?: string;
  readonly password?: string;
  /** The number of the logical database. */
  readonly db: number;
}

const socketSchemes: readonly string[] = ["unix:", "redis+socket:"];

/**
 * How the addresses of servers are written: `redis://`, `rediss://`, `host:port`, `unix://`, `redis+socket://` or the path
 * of a socket. Users and passwords are percent-encoded.
 */
export const redisAddresses: AddressForm<RedisAddress> = {
  forms: "redis://[user:password@]host[:port][/db], rediss://… for TLS, host:port, or unix:///path/of/socket[?db=N]",
  scheme: /^(rediss?|unix|redis\+socket):\/\/|^(?![a-z][a-z0-9+.-]*:\/\/)/i,
  parse(text) {
    const url = urlOf(text);
    if (url === undefined) throw new BadAddress("is not the address of a server");
    const { protocol, hostname, pathname, searchParams } = url;
    const isSocket = socketSchemes.includes(protocol);
    const unknown = [...searchParams.keys()].some((key) => !(isSocket && key === "db"));
    if (unknown || url.hash !== "") throw new BadAddress("has unknown parameters");

    const { username, password, path } = decodePercents({
      username: url.username,
      password: url.password,
      path: isSocket ? pathname : "",
    });
    const database = isSocket ? (searchParams.get("db") ?? "") : pathname.slice(1);
    if (!/^\d{0,9}$/.test(database)) throw new BadAddress("has a database that is not a number");
    const common = {
      isTls: protocol === "rediss:",
      ...(username !== "" && { username }),
      ...(password !== "" && { password }),
      db: Number(database),
    };
    if (isSocket) {
      if (hostname !== "localhost" || path === "/") throw new BadAddress("must name the absolute path of a socket");
      return { ...common, path };
    }
    if (hostname === "") throw new BadAddress("names no host");
    return { ...common, host: hostname.replace(/^\[|\]$/g, ""), port: url.port === "" ? 6379 : Number(url.port) };
  },
};

function urlOf(text: string): URL | undefined {
  const withScheme = text.startsWith("/") ? `unix://${text}` : text.includes("://") ? text : `redis://${text}`;
  // A URL with a login must have a host, but a socket has none.
  const url = withScheme.replace(/^(unix|redis\+socket):\/\/([^/@]*@)?\//i, "$1://$2localhost/");
  return URL.canParse(url) ? new URL(url) : undefined;
}
