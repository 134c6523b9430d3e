import type { IoredisClient, IoredisCommand } from "./client.ts";

/** The class of a library's commands. */
export type CommandClass = new (
  name: string,
  args: readonly (string | Buffer)[],
  options: { replyEncoding: "utf8" | null },
) => IoredisCommand;

/**
 * Returns the command class of the library that created the client, which may be a fork, or undefined if it has none.
 * The client is made to create a command, which is not sent.
 */
export function commandClassOf(client: IoredisClient): CommandClass | undefined {
  let made: IoredisCommand | undefined;
  const catcher: IoredisClient = Object.create(client, {
    isPipeline: { value: true }, // otherwise a client with automatic pipelining would send it
    sendCommand: {
      value(command: IoredisCommand) {
        made = command;
      },
    },
  });
  void catcher.evalsha("", 0);
  return typeof made?.toWritable === "function" ? (made.constructor as CommandClass) : undefined;
}
