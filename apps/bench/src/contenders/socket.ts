import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect as connectTo, type Socket } from "node:net";
import type { Client } from "./contender.ts";
import { compareAndDelete } from "./raw.ts";
import { Vote } from "./vote.ts";

/** Hands a command to all sockets. */
export type Send = (command: string) => void;

const sha = createHash("sha1").update(compareAndDelete).digest("hex");

/**
 * Sockets and hand-written commands, without any client: below this nothing can be had from Node.js. So it makes nothing
 * that it need not: a command is encoded once for all servers, a vote has one promise, and of a reply only the first byte is
 * looked at.
 */
export async function socketClient(
  ports: readonly number[],
  senderOf: (sockets: readonly Socket[]) => Send,
): Promise<Client> {
  const sockets = ports.map((port) => connectTo(port, "127.0.0.1").setNoDelay(true));
  for (const socket of sockets) socket.on("error", () => {});
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  const queues = sockets.map(votesOf);
  const send = senderOf(sockets);
  const ask = (command: string, quorum: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const vote = new Vote(sockets.length, quorum, resolve, reject);
      for (const queue of queues) queue.push(vote);
      send(command);
    });
  const quorum = Math.floor(ports.length / 2) + 1;
  await ask(encode(["EVAL", compareAndDelete, "1", "", ""]), ports.length); // servers know the script from now on
  return {
    async acquire([key = ""], ttlMs) {
      const value = randomUUID();
      await ask(encode(["SET", key, value, "PX", String(ttlMs), "NX"]), quorum);
      return () => ask(encode(["EVALSHA", sha, "1", key, value]), quorum);
    },
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

const lineFeed = 10;
const dollar = "$".charCodeAt(0); // all replies are of one line, and this one is null
const minus = "-".charCodeAt(0);

/** The votes that wait for this server's replies, which come in the order of the commands. */
function votesOf(socket: Socket): Vote[] {
  const votes: Vote[] = [];
  let answered = 0;
  let isLineStart = true;
  socket.on("data", (chunk: Buffer) => {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      if (isLineStart) votes[answered++]?.hear(byte !== dollar && byte !== minus);
      isLineStart = byte === lineFeed;
    }
    if (answered < votes.length) return;
    votes.length = 0;
    answered = 0;
  });
  return votes;
}

/** All that is ever sent is ASCII. */
function encode(words: readonly string[]): string {
  let command = `*${words.length}\r\n`;
  for (const word of words) command += `$${word.length}\r\n${word}\r\n`;
  return command;
}
