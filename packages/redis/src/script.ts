import { messageOf } from "./client-errors.ts";
import { assertCallId, newCallId } from "./replies.ts";

/** A Lua script. `pnpm lua` generates those in `generated/`. */
export interface Script {
  /** The SHA-1 digest of the source, which `EVALSHA` takes. */
  readonly sha: string;
  /** What `EVAL` takes. */
  readonly source: string;
}

/** Sends a script, or its digest, with the call id as one of its arguments. Waits for at most so long. */
type SendScript = (command: "EVALSHA" | "EVAL", script: string, callId: string, timeoutMs: number) => Promise<unknown>;

/**
 * Runs a script by its digest, or by its source if the server does not have it yet and there is time left. Resolves with
 * the reply without the call id. Rejects with new errors, because those of clients carry the whole command.
 */
export async function callScript(script: Script, timeoutMs: number, send: SendScript): Promise<readonly unknown[]> {
  const callId = newCallId();
  const endMs = performance.now() + timeoutMs;
  const bySource = (error: unknown): Promise<unknown> => {
    const leftMs = endMs - performance.now();
    if (!messageOf(error).startsWith("NOSCRIPT") || leftMs <= 0) throw error;
    return send("EVAL", script.source, String(callId), leftMs);
  };
  const reply = await send("EVALSHA", script.sha, String(callId), timeoutMs)
    .catch(bySource)
    .catch((error: unknown) => Promise.reject(new Error(messageOf(error))));
  if (!Array.isArray(reply)) throw malformed();
  assertCallId(reply[0], callId);
  return reply.slice(1);
}

/** Returns the error of a reply that the script cannot have sent. */
export function malformed(): Error {
  return new Error("the server's reply is malformed");
}
