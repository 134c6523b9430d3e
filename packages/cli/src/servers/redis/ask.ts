import type { Redis } from "ioredis";
import { withoutArguments } from "../../output/print.ts";
import { within } from "../../within.ts";

/** The reply to one command. An error reply is also an answer: the server works, but refuses. */
export type Answer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: string };

/** Sends one command. Rejects if no reply arrives. */
export type Ask = (command: string, ...args: readonly (string | number)[]) => Promise<Answer>;

/** Returns a function that sends commands with a timeout. */
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

/** Returns the value of an answer if it is a string, otherwise null. */
export function textOf(answer: Answer): string | null {
  return answer.ok && typeof answer.value === "string" ? answer.value : null;
}
