import type { Operation } from "./operation.ts";
import type { Settings } from "./options.ts";
import { bulk, respOf, type Words, words } from "./words.ts";

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
  encode(command: "EVALSHA" | "EVAL", script: string): string;
}

/** The same, as it is made. */
export interface RevocableCall extends ScriptCall {
  /** Lets an operation, by its place in the list, have no effect where it is not written yet. */
  revoke(index: number): void;
}

const revoked = "-".charCodeAt(0);

/** Makes the calls of one node. */
export function createCalls({ restartGuardMs }: Pick<Settings, "restartGuardMs">) {
  const guard = restartGuardMs === 0 ? undefined : words([String(restartGuardMs)]);

  /** Makes a call of operations, which run in this order. The ticket is repeated by the reply. */
  return (ticket: number, operations: readonly Pick<Operation, "phrase">[]): RevocableCall => {
    const places: number[] = [];
    const args: Words[] = [];
    let steps = "";
    let ttlMs: string | undefined;
    let keyCount = 0;
    const set = (step: string, value: Words): void => {
      steps += step;
      args.push(value);
    };
    if (guard) set("g", guard);
    for (const { phrase } of operations) {
      const { terms, waiter } = phrase;
      if (terms) {
        if (terms.times.list[0] !== ttlMs) set("t", terms.times);
        if (terms.takeover) set("o", terms.takeover);
        ttlMs = terms.times.list[0];
      }
      if (waiter) set("n", waiter);
      places.push(steps.length);
      set(phrase.steps, phrase.arguments);
      keyCount += phrase.keys.list.length;
    }
    const verbs = Buffer.from(steps, "latin1");
    return {
      firstKey: operations[0]?.phrase.keys.list[0] as string,
      keyCount,
      revoke(index) {
        verbs[places[index] as number] = revoked;
      },
      keysAndArguments() {
        const list: (string | Buffer)[] = [];
        for (const { phrase } of operations) list.push(...phrase.keys.list);
        list.push(verbs, String(ticket));
        for (const each of args) list.push(...each.list);
        return list;
      },
      encode(command, script) {
        let keys = "";
        let rest = bulk(verbs.toString("latin1")) + bulk(String(ticket));
        let count = 5 + keyCount;
        for (const { phrase } of operations) keys += respOf(phrase.keys);
        for (const each of args) {
          rest += respOf(each);
          count += each.list.length;
        }
        return `*${count}\r\n${bulk(command)}${bulk(script)}${bulk(String(keyCount))}${keys}${rest}`;
      },
    };
  };
}
