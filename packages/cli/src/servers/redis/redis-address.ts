/** How the addresses of Redis servers are written, and whether a port speaks another protocol than an address says. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { within } from "../../within.ts";
import { BadAddress, decodePercents } from "../server.ts";

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

/** Parses an address. See `ServerKind.parse`. */
export function parseRedisAddress(text: string): RedisAddress {
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
}

function urlOf(text: string): URL | undefined {
  const withScheme = text.startsWith("/") ? `unix://${text}` : text.includes("://") ? text : `redis://${text}`;
  // A URL with a login must have a host, but a socket has none.
  const url = withScheme.replace(/^(unix|redis\+socket):\/\/([^/@]*@)?\//i, "$1://$2localhost/");
  return URL.canParse(url) ? new URL(url) : undefined;
}

/** How long to probe the port, in milliseconds. */
const probeTimeoutMs = 400;

/**
 * Probes whether a port speaks TLS, over a separate connection without a login.
 *
 * @returns the error in the address; undefined if there is none, or the port does not show it in time
 */
export async function wrongSchemeOf(address: RedisAddress): Promise<Error | undefined> {
  if (address.path !== undefined) return undefined;
  if (address.isTls) {
    if (!(await speaksPlainRedis(address))) return undefined;
    return new Error("this port does not speak TLS: use redis:// instead of rediss://, or the server's TLS port");
  }
  if (!(await speaksTls(address))) return undefined;
  return new Error("this port speaks TLS: use rediss:// instead of redis://, or the server's port without TLS");
}

/** Returns whether the port replies to PING as Redis does, even with an error such as a missing password. */
function speaksPlainRedis({ host, port = 0 }: RedisAddress): Promise<boolean> {
  const socket = connect({ host, port });
  socket.write("PING\r\n");
  return probe(socket, async () => {
    const [data] = (await once(socket, "data")) as [Buffer];
    return /^[+-]/.test(data.toString("latin1"));
  });
}

/**
 * Returns whether the port takes part in a TLS handshake. Nothing is sent over TLS, so the certificate does not matter.
 */
function speaksTls({ host, port = 0 }: RedisAddress): Promise<boolean> {
  const socket = connectTls({ host, port, rejectUnauthorized: false });
  return probe(socket, async () => {
    try {
      await once(socket, "secureConnect");
      return true;
    } catch (error) {
      // An alert is also TLS, for example from a server that requires a client certificate.
      return /^ERR_SSL_.*ALERT/.test(String((error as NodeJS.ErrnoException).code));
    }
  });
}

async function probe(socket: Socket, look: () => Promise<boolean>): Promise<boolean> {
  try {
    return await within(probeTimeoutMs, look());
  } catch {
    return false;
  } finally {
    socket.on("error", () => {});
    socket.destroy();
  }
}
