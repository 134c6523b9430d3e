import type { Socket } from "node:net";
import type { Client } from "./contender.ts";
import { type Send, socketClient } from "./socket.ts";

/** One write for all commands of one tick. */
export function connect(ports: readonly number[]): Promise<Client> {
  return socketClient(ports, batching);
}

function batching(sockets: readonly Socket[]): Send {
  let batch = "";
  const flush = (): void => {
    const bytes = Buffer.from(batch, "latin1");
    batch = "";
    for (const socket of sockets) socket.write(bytes);
  };
  return (command) => {
    if (batch === "") process.nextTick(flush);
    batch += command;
  };
}
