import { Socket } from "node:net";

/** How a command begins in Redis's protocol: the number of its words, then the length of the first. */
const beginning = /\*\d+\r\n\$/g;

/**
 * Begins to count the Redis commands that this process sends, by whatever client, and answers what ends it. Servers count
 * what scripts do as commands, too, so they cannot tell.
 */
export function watchCommands(): () => number {
  const { write } = Socket.prototype;
  let commands = 0;
  // biome-ignore lint/suspicious/noExplicitAny: passed on as it is
  Socket.prototype.write = function (this: Socket, data: any, ...rest: any[]): boolean {
    const text = typeof data === "string" ? data : Buffer.from(data).toString("latin1");
    commands += text.match(beginning)?.length ?? 0;
    // biome-ignore lint/suspicious/noExplicitAny: passed on as it is
    return (write as any).call(this, data, ...rest);
  };
  return () => {
    Socket.prototype.write = write;
    return commands;
  };
}
