import type { Redis } from "ioredis";
import { withoutArguments } from "../output/print.ts";
import { within } from "../within.ts";

/** What a server said to one command. An error is an answer, too: that of a server that is there and will not. */
export type Answer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: string };

/** Sends one command. Rejects when no answer comes. */
export type Ask = (command: string, ...args: readonly (string | number)[]) => Promise<Answer>;

/** Makes what sends commands, each of which has so long to be answered. */
export function asking(client: Redis, timeoutMs: number): Ask {
  return async (command, ...args) => {
    try {
      return { ok: true, value: await within(timeoutMs, client.call(command, ...args)) };
    } catch (error) {
      if ((error as Error).name === "ReplyError")
        return { ok: false, error: withoutArguments((error as Error).message) };
      throw error;
    }
  };
}

/** The value of an answer as a text, or null where it is none. */
export function textOf(answer: Answer): string | null {
  return answer.ok && typeof answer.value === "string" ? answer.value : null;
}
