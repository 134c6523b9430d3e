import { type RedisConnection, watchClient } from "@holdfast/redis";
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

/**
 * Returns the function that sends scripts. For a `Redis` it sends commands that encode themselves: encoding the words
 * of a call is most of the work of these libraries, and takes several times as long if one word is a `Buffer`. A
 * `Cluster` needs the separate words.
 */
export function scriptRunner(client: IoredisClient): RedisConnection["runScript"] {
  const Command = client.isCluster ? undefined : commandClassOf(client);
  if (Command === undefined) {
    return (command, script, call) =>
      command === "EVALSHA"
        ? client.evalsha(script, call.keyCount, ...call.keysAndArguments())
        : client.eval(script, call.keyCount, ...call.keysAndArguments());
  }

  return (command, script, call) => {
    const sent = new Command(command === "EVAL" ? "eval" : "evalsha", noArguments, commandOptions);
    sent.toWritable = () => call.encode(command, script);
    client.sendCommand(sent);
    return sent.promise;
  };
}

const noArguments: readonly string[] = [];
const commandOptions = { replyEncoding: "utf8" } as const;

/** The parts of a connection that depend on whether the client is connected. */
type Readiness = Required<Pick<RedisConnection, "isReady" | "whyNotReady" | "firstConnection">>;

/** Returns them for a client. */
export function readinessOf(client: IoredisClient): Readiness {
  const { lastError, firstConnection } = watchClient(client);
  const isConnecting = (): boolean => client.status === "connecting" || client.status === "connect";
  return {
    isReady: () => client.status === "ready",
    whyNotReady() {
      if (client.status === "wait") return "it was created with lazyConnect: call connect() first";
      if (client.status === "end") return lastError() ?? "it was closed";
      return lastError() ?? (isConnecting() ? "it is still connecting" : undefined);
    },
    firstConnection: () => (isConnecting() ? firstConnection() : undefined),
  };
}
