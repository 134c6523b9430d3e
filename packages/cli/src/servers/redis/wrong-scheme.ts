/** Detects `rediss://` for a port without TLS, and `redis://` for a port with TLS. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { within } from "../../within.ts";
import type { RedisAddress } from "./redis-address.ts";

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
