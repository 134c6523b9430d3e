import type { Client } from "./contender.ts";
import { socketClient } from "./socket.ts";

/** One write for each command. */
export function connect(ports: readonly number[]): Promise<Client> {
  return socketClient(ports, (socket) => (command) => void socket.write(command, "latin1"));
}
