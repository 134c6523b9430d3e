import type { IoredisClient, IoredisCommand } from "./client.ts";

/** The class of the commands of a library. */
export type CommandClass = new (
  name: string,
  args: readonly (string | Buffer)[],
  options: { replyEncoding: "utf8" | null },
) => IoredisCommand;

/**
 * The class of commands of the library that made the client, which may be a fork: the client is asked for a command, which
 * is not sent. Undefined where it makes none.
 */
export function commandClassOf(client: IoredisClient): CommandClass | undefined {
  let made: IoredisCommand | undefined;
  const catcher: IoredisClient = Object.create(client, {
    isPipeline: { value: true }, // otherwise it would be sent where the client makes pipelines by itself
    sendCommand: {
      value(command: IoredisCommand) {
        made = command;
      },
    },
  });
  void catcher.evalsha("", 0);
  return typeof made?.toWritable === "function" ? (made.constructor as CommandClass) : undefined;
}
