import type { ConfigurationError } from "./errors.ts";
import type { NodeView } from "./lock-node.ts";

/** What a node said to a question, in the words of `NodeOutcome`; undefined as long as it has not answered. */
export type Answer<Reply> = Reply | Failed | undefined;

/** It holds the claim, with this fence, since it was asked. */
export interface Granted {
  readonly kind: "granted";
  readonly fence: number;
}

/** Another owner is in the way. */
export interface Denied {
  readonly kind: "denied";
  readonly retryAfterMs?: number;
}

/** It holds the claim as before, with this fence. */
export interface Held {
  readonly kind: "held";
  readonly fence: number;
}

/** It did not hold the claim when it was asked. If it rejoined, it does now. */
export interface NotHeld {
  readonly kind: "rejoined" | "not-held";
}

/** It does not hold the claim any more. */
export interface Released {
  readonly kind: "released" | "not-held";
}

/** What it knows about a resource. */
export interface Seen {
  readonly kind: "seen";
  readonly view: NodeView;
}

/** It gave no answer, or one that the contract does not allow. */
export interface Failed {
  readonly kind: "failed";
  readonly error: Error;
}

/** Whether the node said that it can never work like this. By the code, as the error may be of another copy of this package. */
export function isMisconfigured({ error }: Failed): boolean {
  try {
    return (error as Partial<ConfigurationError>).code === "MISCONFIGURED";
  } catch {
    return false; // the getter of a strange error
  }
}
