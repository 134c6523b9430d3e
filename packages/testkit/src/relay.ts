import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * Starts a server on a free port of 127.0.0.1 that connects each client to a target. When one of the two connections ends,
 * so does the other.
 *
 * @param targetPort returns the present port of the target, on 127.0.0.1
 * @param forward passes on what arrives at the two ends of a new connection
 */
export async function startRelay(targetPort: () => number, forward: (client: Socket, server: Socket) => void) {
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    const server = connect({ port: targetPort(), host: "127.0.0.1" });
    for (const [socket, other] of [[client, server] as const, [server, client] as const]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    forward(client, server);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  return {
    /** The port for clients. */
    port: (listener.address() as AddressInfo).port,
    /** Closes all connections, and accepts no more. */
    async close(): Promise<void> {
      listener.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
