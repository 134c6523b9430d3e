import type { Client } from "./contender.ts";
import { socketClient } from "./socket.ts";

/** One write for each command. */
export function connect(ports: readonly number[]): Promise<Client> {
  return socketClient(ports, (sockets) => (command) => {
    const bytes = Buffer.from(command, "latin1");
    for (const socket of sockets) socket.write(bytes);
  });
}
