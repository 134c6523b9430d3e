import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** What the client gets instead of what the server sent, and whether the connection ends after it. */
export interface Tampering {
  readonly data: Buffer;
  /** By a farewell (FIN), or without one (RST). */
  readonly then?: "end" | "reset";
}

/** A network between a client and one server on 127.0.0.1 that changes what the server says. */
export interface TamperingProxy {
  /** Where clients connect to. */
  readonly port: number;
  /** Is asked about all that a server sends; undefined passes it on as it is. */
  tamper: ((data: Buffer) => Tampering) | undefined;
  /** Closes everything. */
  stop(): Promise<void>;
}

/** Starts a proxy on a free port of 127.0.0.1 in front of the target port. */
export async function startTamperingProxy(targetPort: number): Promise<TamperingProxy> {
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    const server = connect({ port: targetPort, host: "127.0.0.1" });
    for (const [socket, other] of [[client, server] as const, [server, client] as const]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.on("data", (data) => server.write(data));
    server.on("data", (data) => {
      if (!client.writable) return;
      const { data: told, then } = proxy.tamper?.(data) ?? { data };
      if (then === "end") client.end(told);
      else if (then === "reset") client.write(told, () => client.resetAndDestroy());
      else client.write(told);
    });
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const proxy: TamperingProxy = {
    port: (listener.address() as AddressInfo).port,
    tamper: undefined,
    async stop() {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return proxy;
}

/** Passes on so many bytes, and ends that connection after the last of them; those that come after it are left alone. */
export function endingAfter(bytes: number, then: "end" | "reset"): (data: Buffer) => Tampering {
  let left = bytes;
  let isOver = false;
  return (data) => {
    if (isOver) return { data };
    isOver = data.length >= left;
    const told = data.subarray(0, left);
    left -= told.length;
    return isOver ? { data: told, then } : { data: told };
  };
}

/** Changes some bits of one byte. */
export function corrupting(byte: number, bits: number): (data: Buffer) => Tampering {
  let at = byte;
  return (data) => {
    const told = Buffer.from(data);
    if (at >= 0 && at < told.length) told[at] = (told[at] as number) ^ bits;
    at -= data.length;
    return { data: told };
  };
}
