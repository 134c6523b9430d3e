import type { Phrase } from "./phrases.ts";
import type { Reader } from "./replies.ts";

/** One operation that has not been answered: one that does no harm however late it is, or a claim. */
export interface Operation {
  readonly phrase: Phrase;
  readonly reader: Reader<unknown>;
  /** Settles with the answer. */
  readonly answer: Promise<unknown>;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (reason: unknown) => void;
  /** Whose claim it is; undefined if it is none. */
  readonly owner: string | undefined;
  /** How long it may take from when it leaves. */
  readonly timeoutMs: number;
  /** When it is given up, on the clock of `performance.now()`. */
  endMs: number;
  /** Whether it must not be sent any more. */
  isGivenUp: boolean;
  /** Whether it was answered. */
  hasEnded: boolean;
  /** The call that it was last sent with; undefined until it is sent, and when it has ended. */
  flight: { revoke(operation: Operation): void } | undefined;
  /** An earlier claim of the same owner. */
  sibling: Claim | undefined;
}

/** An `acquire` or `extend`. */
export type Claim = Operation & { readonly owner: string };

/** Whether it is one. */
export function isClaim(operation: Operation): operation is Claim {
  return operation.owner !== undefined;
}

/** Gives it up: it has no effect where it is not written yet. */
export function revoke(claim: Claim): void {
  claim.isGivenUp = true;
  claim.flight?.revoke(claim);
}

/** Begins an operation: a claim, if it has an owner. */
export function createOperation(
  phrase: Phrase,
  reader: Reader<unknown>,
  owner: string | undefined,
  timeoutMs: number,
  nowMs: number,
): Operation {
  let resolve!: Operation["resolve"];
  let reject!: Operation["reject"];
  const answer = new Promise((resolveIt, rejectIt) => {
    resolve = resolveIt;
    reject = rejectIt;
  });
  return {
    phrase,
    reader,
    answer,
    resolve,
    reject,
    owner,
    timeoutMs,
    endMs: nowMs + timeoutMs,
    isGivenUp: false,
    hasEnded: false,
    flight: undefined,
    sibling: undefined,
  };
}
