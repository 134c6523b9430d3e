/** The network between the members of an etcd cluster: a proxy in front of each, which knows who connects. */
import type { Socket } from "node:net";
import { startRelay } from "./relay.ts";

/** Starts a proxy in front of one member that forwards the connections of the others. */
export async function startPeerProxy() {
  const links = new Map<Socket, string>();
  let target = 0;
  let blocked: readonly string[] = [];
  const isBlocked = (source: string): boolean => blocked.includes("*") || blocked.includes(source);
  const relay = await startRelay(
    () => target,
    (client, member) => {
      links.set(client, "");
      client.on("close", () => links.delete(client));
      client.on("data", (data) => {
        // Each request names its sender, and a connection carries the requests of one sender.
        const source = /X-Server-From: (\w+)/i.exec(data.toString("latin1"))?.[1] ?? links.get(client) ?? "";
        links.set(client, source);
        if (isBlocked(source)) client.destroy();
        else member.write(data);
      });
      member.pipe(client);
      if (isBlocked("")) client.destroy();
    },
  );
  return {
    ...relay,
    /** Sets the port of the member itself. */
    leadTo(port: number): void {
      target = port;
    },
    /** Closes the connections from these members, by their ids, and refuses further ones; "*" stands for all. */
    block(sources: readonly string[]): void {
      blocked = sources;
      for (const [client, source] of links) if (isBlocked(source)) client.destroy();
    },
  };
}
