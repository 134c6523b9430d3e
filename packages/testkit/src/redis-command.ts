import { once } from "node:events";
import { connect } from "node:net";

/** The replies that tests need. */
export type RedisReply = string | number | null | RedisReply[];

/**
 * Sends one command over a new connection, so that a test can inspect a server without the client under test.
 *
 * @param before commands to send first, such as AUTH and SELECT
 * @throws {Error} with the server's message for an error reply, or if the server cannot be reached
 */
export async function redisCommand(
  port: number,
  args: readonly (string | number)[],
  before: readonly (readonly (string | number)[])[] = [],
): Promise<RedisReply> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    for (const command of [...before, args]) {
      const words = command.map((word) => `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`);
      socket.write(`*${command.length}\r\n${words.join("")}`);
    }
    let left = before.length;
    let received = "";
    // In latin1 the lengths of the protocol count characters.
    for await (const chunk of socket.setEncoding("latin1")) {
      received += chunk;
      for (let parsed = parse(received, 0); parsed !== undefined; parsed = parse(received, 0)) {
        if (left === 0) return parsed.reply;
        left -= 1;
        received = received.slice(parsed.end);
      }
    }
    throw new Error("the server closed the connection without an answer");
  } finally {
    socket.destroy();
  }
}

interface Parsed {
  readonly reply: RedisReply;
  readonly end: number;
}

/** Parses the reply at an offset of the text; returns undefined while it is incomplete. */
function parse(text: string, start: number): Parsed | undefined {
  const lineEnd = text.indexOf("\r\n", start);
  if (lineEnd === -1) return undefined;
  const line = text.slice(start + 1, lineEnd);
  const end = lineEnd + 2;
  switch (text[start]) {
    case "+":
      return { reply: line, end };
    case ":":
      return { reply: Number(line), end };
    case "-":
      throw new Error(line);
    case "$":
      return parseBulk(text, end, Number(line));
    case "*":
      return parseArray(text, end, Number(line));
    default:
      throw new Error(`cannot read the reply ${JSON.stringify(text.slice(start, start + 80))}`);
  }
}

function parseBulk(text: string, start: number, length: number): Parsed | undefined {
  if (length === -1) return { reply: null, end: start };
  const end = start + length + 2;
  if (text.length < end) return undefined;
  return { reply: Buffer.from(text.slice(start, end - 2), "latin1").toString(), end };
}

function parseArray(text: string, start: number, length: number): Parsed | undefined {
  const reply: RedisReply[] = [];
  let end = start;
  while (reply.length < length) {
    const parsed = parse(text, end);
    if (parsed === undefined) return undefined;
    reply.push(parsed.reply);
    end = parsed.end;
  }
  return { reply, end };
}
