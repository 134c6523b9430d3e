import type { RedisConnection, ScriptCall } from "@holdfast/redis";
import type { IoredisClient, IoredisCommand } from "./client.ts";
import { type CommandClass, commandClassOf } from "./command-class.ts";

/**
 * Returns the function that sends scripts. A `Redis` gets a command that writes itself: encoding the words of a call is most of
 * what these libraries do for it, and takes them several times as long if one of the words is a `Buffer`. A `Cluster` has
 * to know the words.
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

/** The class of the commands that write themselves. */
type ScriptCommandClass = new (command: "EVALSHA" | "EVAL", script: string, call: ScriptCall) => IoredisCommand;

/** By the class of the library's own commands. */
const scriptCommandClasses = new WeakMap<CommandClass, ScriptCommandClass>();

/** One for all clients of a library: V8 keeps no more than four kinds of objects apart at speed, and each class is a kind. */
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
