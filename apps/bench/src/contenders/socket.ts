import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect as connectTo, type Socket } from "node:net";
import type { Connect } from "./contender.ts";
import { compareAndDelete } from "./raw.ts";
import { quorumOf, Vote } from "./vote.ts";

const sha = createHash("sha1").update(compareAndDelete).digest("hex");

/**
 * Sockets and hand-written commands, without any client: the bound for a program on Node.js. A command is encoded once
 * for all servers, a vote has one promise, and only the first byte of a reply is read.
 */
export const connect: Connect = async (ports) => {
  const sockets = ports.map((port) => connectTo(Number(port), "127.0.0.1").setNoDelay(true));
  for (const socket of sockets) socket.on("error", () => {});
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  const queues = sockets.map(votesInOrder);
  const call = (command: string, quorum: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const vote = new Vote(sockets.length, quorum, resolve, reject);
      for (const queue of queues) queue.push(vote);
      const bytes = Buffer.from(command, "latin1");
      for (const socket of sockets) socket.write(bytes);
    });
  const quorum = quorumOf(ports.length);
  await call(encode(["EVAL", compareAndDelete, "1", "", ""]), ports.length); // loads the script
  return {
    async acquire(key, ttlMs) {
      const value = randomUUID();
      await call(encode(["SET", key, value, "PX", String(ttlMs), "NX"]), quorum);
      return () => call(encode(["EVALSHA", sha, "1", key, value]), quorum);
    },
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
};

const lineFeed = 10;
const dollar = "$".charCodeAt(0); // every reply is one line, and this is null
const minus = "-".charCodeAt(0);

/** Queues the votes that wait for this server's replies, in the order of the commands. */
function votesInOrder(socket: Socket): Vote[] {
  const votes: Vote[] = [];
  let replies = 0;
  let isLineStart = true;
  socket.on("data", (chunk: Buffer) => {
    for (const byte of chunk) {
      if (isLineStart) votes[replies++]?.count(byte !== dollar && byte !== minus);
      isLineStart = byte === lineFeed;
    }
    if (replies < votes.length) return;
    votes.length = 0;
    replies = 0;
  });
  return votes;
}

/** All commands are ASCII. */
function encode(words: readonly string[]): string {
  let command = `*${words.length}\r\n`;
  for (const word of words) command += `$${word.length}\r\n${word}\r\n`;
  return command;
}
