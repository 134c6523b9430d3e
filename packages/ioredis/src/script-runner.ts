import type { RedisConnection } from "@holdfast/redis";
import type { IoredisClient, IoredisCommand } from "./client.ts";

/** The class of the commands of a library. */
type CommandClass = new (name: string, args: [], options: { replyEncoding: "utf8" }) => IoredisCommand;

/**
 * Makes what sends scripts. A `Redis` is given a command that writes itself: to encode the words of a call is most of what
 * these libraries do for it, and takes them several times as long where one of the words is a `Buffer`. A `Cluster` has to
 * know the words.
 */
export function scriptRunner(client: IoredisClient): RedisConnection["runScript"] {
  const Command = client.isCluster ? undefined : commandClassOf(client);
  if (Command === undefined) {
    return (command, script, { keyCount, keysAndArguments }) =>
      command === "EVALSHA"
        ? client.evalsha(script, keyCount, ...keysAndArguments())
        : client.eval(script, keyCount, ...keysAndArguments());
  }

  class ScriptCommand extends Command {
    readonly #encode: () => string;

    constructor(name: string, encode: () => string) {
      super(name, [], { replyEncoding: "utf8" });
      this.#encode = encode;
    }

    override toWritable(): string {
      return this.#encode();
    }
  }

  return (command, script, call) => {
    const sent = new ScriptCommand(command.toLowerCase(), () => call.encode(command, script));
    client.sendCommand(sent);
    return sent.promise;
  };
}

/**
 * The class of commands of the library that made the client, which may be a fork: the client is asked for a command, which
 * is not sent.
 */
function commandClassOf(client: IoredisClient): CommandClass | undefined {
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
