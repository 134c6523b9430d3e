/** The network between the members of an etcd cluster: a proxy in front of each, which knows who connects. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** The way to one member. */
export interface PeerProxy {
  /** The port of 127.0.0.1 that the other members connect to. */
  readonly port: number;
  /** The port of the member itself. */
  target: number;
  /** Closes the connections from these members, by their ids, and refuses further ones; "*" stands for all. */
  block(sources: readonly string[]): void;
  /** Closes the proxy for good. */
  close(): Promise<void>;
}

/** Starts a proxy that forwards the connections of the other members. */
export async function startPeerProxy(): Promise<PeerProxy> {
  const links = new Map<Socket, { source: string; end(): void }>();
  let blocked: readonly string[] = [];
  const isBlocked = (source: string): boolean => blocked.includes("*") || blocked.includes(source);

  const server = createServer((client) => {
    const onward = connect({ host: "127.0.0.1", port: proxy.target });
    const end = (): void => {
      links.delete(client);
      client.destroy();
      onward.destroy();
    };
    const link = { source: "", end };
    links.set(client, link);
    for (const socket of [client, onward]) socket.on("error", end).on("close", end);
    client.on("data", (data) => {
      // Each request names its sender, and a connection carries the requests of one sender.
      link.source = /X-Server-From: (\w+)/i.exec(data.toString("latin1"))?.[1] ?? link.source;
      if (isBlocked(link.source)) end();
      else onward.write(data);
    });
    onward.pipe(client);
    if (isBlocked("")) end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy: PeerProxy = {
    port: (server.address() as AddressInfo).port,
    target: 0,
    block(sources) {
      blocked = sources;
      for (const { source, end } of [...links.values()]) if (isBlocked(source)) end();
    },
    async close() {
      server.close();
      for (const { end } of [...links.values()]) end();
    },
  };
  return proxy;
}
