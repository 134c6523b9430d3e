import { UsageError } from "../exit-codes.ts";

/** The address of one server, and the login. */
export interface ServerAddress {
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

const forms =
  "redis://[user:password@]host[:port][/db], rediss://… for TLS, host:port, or unix:///path/of/socket[?db=N]";
const tcpSchemes: readonly string[] = ["redis:", "rediss:"];
const socketSchemes: readonly string[] = ["unix:", "redis+socket:"];

/**
 * Parses the address of a server. The text may contain a password, so an error never quotes any of it.
 *
 * @param text `redis://`, `rediss://`, `host:port`, `unix://`, `redis+socket://` or the path of a socket; users and
 *   passwords are percent-encoded
 * @param what names the address in an error, such as "node 2 of HOLDFAST_NODES"
 * @throws {UsageError} with the problem and the valid forms
 */
export function parseServerAddress(text: string, what: string): ServerAddress {
  const wrong = (why: string): UsageError => new UsageError(`${what} ${why}; an address is ${forms}`);
  const url = urlOf(text);
  if (url === undefined) throw wrong("is not the address of a server");
  const { protocol, hostname, pathname, searchParams } = url;
  const isSocket = socketSchemes.includes(protocol);
  if (!isSocket && !tcpSchemes.includes(protocol)) throw wrong("has an unknown scheme");
  const unknown = [...searchParams.keys()].some((key) => !(isSocket && key === "db"));
  if (unknown || url.hash !== "") throw wrong("has unknown parameters");

  const decoded = decode({ username: url.username, password: url.password, path: isSocket ? pathname : "" });
  if (decoded === undefined) throw wrong("is not percent-encoded correctly");
  const { username, password, path } = decoded;
  const database = isSocket ? (searchParams.get("db") ?? "") : pathname.slice(1);
  if (!/^\d{0,9}$/.test(database)) throw wrong("has a database that is not a number");
  const common = {
    isTls: protocol === "rediss:",
    ...(username !== "" && { username }),
    ...(password !== "" && { password }),
    db: Number(database),
  };
  if (isSocket) {
    if (hostname !== "localhost" || path === "/") throw wrong("must name the absolute path of a socket");
    return { ...common, path };
  }
  if (hostname === "") throw wrong("names no host");
  return { ...common, host: hostname.replace(/^\[|\]$/g, ""), port: url.port === "" ? 6379 : Number(url.port) };
}

function urlOf(text: string): URL | undefined {
  const withScheme = text.startsWith("/") ? `unix://${text}` : text.includes("://") ? text : `redis://${text}`;
  // A URL with a login must have a host, but a socket has none.
  const url = withScheme.replace(/^(unix|redis\+socket):\/\/([^/@]*@)?\//i, "$1://$2localhost/");
  return URL.canParse(url) ? new URL(url) : undefined;
}

function decode<Texts extends Readonly<Record<string, string>>>(texts: Texts): Texts | undefined {
  try {
    return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, decodeURIComponent(text)])) as Texts;
  } catch {
    return undefined;
  }
}
