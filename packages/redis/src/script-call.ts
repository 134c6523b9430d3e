import type { Operation } from "./operation.ts";
import { type Outline, outlineOf } from "./outline.ts";
import { bulk } from "./resp.ts";

/** One run of the script, as a connection sends it. */
export interface ScriptCall {
  /** Names the server, where a cluster has several. */
  readonly firstKey: string;
  /** How many of the words are keys. */
  readonly keyCount: number;
  /**
   * The words that follow the number of keys: the keys, and then the arguments. The one `Buffer` among them must be
   * written as it is when the command is written to the socket, however late that may be: its content is changed when
   * operations must have no effect any more.
   */
  keysAndArguments(): (string | Buffer)[];
  /**
   * The whole command in the Redis protocol, for a library that lets it be made when it is written to the socket, and
   * not before: what must have no effect any more is left out of it.
   */
  encode(command: "EVALSHA" | "EVAL", script: string): Buffer;
}

const revoked = "-";

/** The operations that share a call, in its order, and the call. */
export class Flight implements ScriptCall {
  /** Is repeated by the reply. */
  readonly ticket: number;
  readonly operations: readonly Operation[];
  readonly #outline: Outline;
  /** The steps, where they were given away as they are. */
  #steps: Buffer | undefined;

  constructor(ticket: number, operations: readonly Operation[], guard: string | undefined) {
    this.ticket = ticket;
    this.operations = operations;
    this.#outline = outlineOf(operations, guard);
  }

  get firstKey(): string {
    return this.#outline.keys[0] as string;
  }

  get keyCount(): number {
    return this.#outline.keys.length;
  }

  keysAndArguments(): (string | Buffer)[] {
    const { keys, args } = this.#outline;
    this.#steps ??= Buffer.from(this.#currentSteps(), "latin1");
    return [...keys, this.#steps, String(this.ticket), ...args];
  }

  encode(command: "EVALSHA" | "EVAL", script: string): Buffer {
    const { before, after } = this.#outline.respOf(command, script, this.#currentSteps());
    const between = bulk(String(this.ticket));
    const bytes = Buffer.allocUnsafe(before.length + between.length + after.length);
    bytes.write(before, 0, "latin1");
    bytes.write(between, before.length, "latin1");
    bytes.write(after, before.length + between.length, "latin1");
    return bytes;
  }

  /** Lets an operation that was given up have no effect where it is not written yet. */
  revoke(operation: Operation): void {
    this.#steps?.write(revoked, this.#outline.places[this.operations.indexOf(operation)] as number);
  }

  #currentSteps(): string {
    const { steps, places } = this.#outline;
    if (!this.operations.some(isGivenUp)) return steps;
    const letters = [...steps];
    for (const [index, { isGivenUp }] of this.operations.entries()) {
      if (isGivenUp) letters[places[index] as number] = revoked;
    }
    return letters.join("");
  }
}

function isGivenUp(operation: Operation): boolean {
  return operation.isGivenUp;
}
