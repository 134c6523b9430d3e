import { within } from "./deadline.ts";
import { messageOf } from "./message-of.ts";
import { integerOf } from "./replies.ts";

/** A Lua script. `pnpm lua` generates those in `generated/`. */
export interface Script {
  /** The SHA-1 digest of the source, which `EVALSHA` takes. */
  readonly sha: string;
  /** What `EVAL` takes. */
  readonly source: string;
}

/** Returns a random number that the reply to a call must repeat, so that the reply to another call is recognised. */
export function newCallId(): number {
  return Math.floor(Math.random() * 2 ** 48);
}

/** Sends a script, or its digest, and waits for at most so long. */
type SendScript = (command: "EVALSHA" | "EVAL", script: string, timeoutMs: number) => Promise<unknown>;

/**
 * Runs a script by its digest, or by its source if the server does not have it yet. Resolves with the reply without the
 * call id, or rejects with `late()` after `timeoutMs`.
 *
 * @param callId what the reply must begin with, so that the reply to another call is recognised
 */
export async function callScript(
  script: Script,
  callId: number,
  timeoutMs: number,
  late: () => Error,
  send: SendScript,
): Promise<readonly unknown[]> {
  const endMs = performance.now() + timeoutMs;
  const bySource = (error: unknown): Promise<unknown> => {
    const leftMs = endMs - performance.now();
    if (!messageOf(error).startsWith("NOSCRIPT") || leftMs <= 0) throw error;
    return send("EVAL", script.source, leftMs);
  };
  const reply = await within(timeoutMs, send("EVALSHA", script.sha, timeoutMs).catch(bySource), late);
  if (!Array.isArray(reply)) throw malformed();
  if (integerOf(reply[0]) !== callId) throw new Error("the client returned the reply to another command");
  return reply.slice(1);
}

/** Returns the error of a reply that the script cannot have sent. */
export function malformed(): Error {
  return new Error("the server's reply is malformed");
}
