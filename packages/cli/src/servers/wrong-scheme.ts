/** Tells a port that is named with `rediss://` and does not speak TLS, or the other way round. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { ServerAddress } from "../options/server-address.ts";
import { within } from "../within.ts";

/** How long the port has to show what it speaks, in milliseconds. */
const probeTimeoutMs = 400;

/**
 * Asks a port which of the two it speaks, on a connection of its own that sends no login.
 *
 * @returns what is wrong with the address; undefined if nothing is, or the port does not tell in time
 */
export async function wrongSchemeOf(address: ServerAddress): Promise<Error | undefined> {
  if (address.path !== undefined) return undefined;
  if (address.isTls) {
    if (!(await speaksPlainRedis(address))) return undefined;
    return new Error("this port does not speak TLS: use redis:// instead of rediss://, or the server's TLS port");
  }
  if (!(await speaksTls(address))) return undefined;
  return new Error("this port speaks TLS: use rediss:// instead of redis://, or the server's port without TLS");
}

/** Whether it answers a PING as Redis does, be it with an error, such as one that asks for a password. */
function speaksPlainRedis({ host, port = 0 }: ServerAddress): Promise<boolean> {
  const socket = connect({ host, port });
  socket.write("PING\r\n");
  return probe(socket, async () => {
    const [data] = (await once(socket, "data")) as [Buffer];
    return /^[+-]/.test(data.toString("latin1"));
  });
}

/** Whether it takes part in a TLS handshake. Nothing is sent to it, so that its certificate does not matter. */
function speaksTls({ host, port = 0 }: ServerAddress): Promise<boolean> {
  const socket = connectTls({ host, port, rejectUnauthorized: false });
  return probe(socket, async () => {
    try {
      await once(socket, "secureConnect");
      return true;
    } catch (error) {
      // An alert is an answer in TLS, as of a server that wants a certificate.
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
