import type { RedisConnection } from "@holdfast/redis";
import type { IoredisClient, IoredisCommand } from "./client.ts";

/** The class of the library's commands. */
type CommandClass = new (name: string, args: [], options: { replyEncoding: "utf8" }) => IoredisCommand;

/**
 * Makes what sends scripts. A `Redis` is given a command that writes itself: encoding the words of a call is most of what
 * the library does for it, and much slower where one of them is a `Buffer`. A `Cluster` has to know the words.
 */
export function scriptRunner(client: IoredisClient): RedisConnection["runScript"] {
  const { Command } = client.constructor as { Command?: CommandClass };
  if (client.isCluster || Command === undefined) {
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
