import type { RedisConnection, ScriptCall } from "@holdfast/redis";
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

  const ScriptCommand = scriptCommandClassOf(Command);
  return (command, script, call) => {
    const sent = new ScriptCommand(command, script, call);
    client.sendCommand(sent);
    return sent.promise;
  };
}

/** The class of commands that encode themselves. */
type ScriptCommandClass = new (command: "EVALSHA" | "EVAL", script: string, call: ScriptCall) => IoredisCommand;

/** The classes created so far, by the library's own command class. */
const scriptCommandClasses = new WeakMap<CommandClass, ScriptCommandClass>();

/**
 * Returns one class for all clients of a library: V8 optimises calls for up to four kinds of objects, and each class is
 * a kind.
 */
function scriptCommandClassOf(Command: CommandClass): ScriptCommandClass {
  const made = scriptCommandClasses.get(Command) ?? createScriptCommandClass(Command);
  scriptCommandClasses.set(Command, made);
  return made;
}

function createScriptCommandClass(Command: CommandClass): ScriptCommandClass {
  return class ScriptCommand extends Command {
    readonly #command: "EVALSHA" | "EVAL";
    readonly #script: string;
    readonly #call: ScriptCall;

    constructor(command: "EVALSHA" | "EVAL", script: string, call: ScriptCall) {
      super(command === "EVAL" ? "eval" : "evalsha", noArguments, commandOptions);
      this.#command = command;
      this.#script = script;
      this.#call = call;
    }

    override toWritable(): string {
      return this.#call.encode(this.#command, this.#script);
    }
  };
}

const noArguments: readonly string[] = [];
const commandOptions = { replyEncoding: "utf8" } as const;
