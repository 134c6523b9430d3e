import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect as connectTo, type Socket } from "node:net";
import type { Client } from "./contender.ts";
import { compareAndDelete, type RawServer, rawClient } from "./raw.ts";

/** Hands commands to a socket. */
export type Send = (command: string) => void;

/** Sockets and hand-written commands, without any client: below this nothing can be had from Node.js. */
export async function socketClient(ports: readonly number[], senderOf: (socket: Socket) => Send): Promise<Client> {
  const sockets = ports.map((port) => connectTo(port, "127.0.0.1").setNoDelay(true).setEncoding("latin1"));
  for (const socket of sockets) socket.on("error", () => {});
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  const servers = await Promise.all(sockets.map((socket) => serverOver(socket, senderOf(socket))));
  return rawClient(servers, () => {
    for (const socket of sockets) socket.destroy();
  });
}

const sha = createHash("sha1").update(compareAndDelete).digest("hex");

async function serverOver(socket: Socket, send: Send): Promise<RawServer> {
  const waiting: ((line: string) => void)[] = [];
  let first = 0;
  let rest = "";
  socket.on("data", (chunk: unknown) => {
    const lines = (rest + chunk).split("\r\n");
    rest = lines.pop() ?? "";
    for (const line of lines) waiting[first++]?.(line);
    if (first < waiting.length) return;
    waiting.length = 0;
    first = 0;
  });
  const ask = (command: string): Promise<string | null> =>
    new Promise((resolve, reject) => {
      waiting.push((line) => {
        if (line[0] === "-") reject(new Error(line));
        else resolve(line === "$-1" ? null : line);
      });
      send(command);
    });
  await ask(encode("EVAL", compareAndDelete, "1", "", "")); // the server knows the script from now on
  return {
    set: (key, value, ttlMs) => ask(encode("SET", key, value, "PX", String(ttlMs), "NX")),
    delete: (key, value) => ask(encode("EVALSHA", sha, "1", key, value)),
  };
}

/** All that is ever sent is ASCII. */
function encode(...words: string[]): string {
  let command = `*${words.length}\r\n`;
  for (const word of words) command += `$${word.length}\r\n${word}\r\n`;
  return command;
}
