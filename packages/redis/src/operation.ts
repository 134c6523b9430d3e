import type { Phrase } from "./phrases.ts";
import type { Reader } from "./replies.ts";
import type { Flight } from "./script-call.ts";

/** One operation that has not been answered: one that does no harm however late it is, or a claim. */
export interface Operation {
  readonly phrase: Phrase;
  readonly reader: Reader<unknown>;
  /** Settles with the answer. */
  readonly answer: Promise<unknown>;
  readonly resolve: Resolve;
  readonly reject: Reject;
  /** Whose claim it is; undefined if it is none. */
  readonly owner: string | undefined;
  /** When it is given up, on the clock of `performance.now()`. */
  readonly endMs: number;
  /** Whether it must not be sent any more. */
  isGivenUp: boolean;
  /** Whether it was answered. */
  hasEnded: boolean;
  /** What it was last sent with. */
  flight: Flight | undefined;
  /** An earlier claim of the same owner. */
  sibling: Claim | undefined;
}

/** An `acquire` or `extend`. */
export type Claim = Operation & { readonly owner: string };

/** Whether it is one. */
export function isClaim(operation: Operation): operation is Claim {
  return operation.owner !== undefined;
}

type Resolve = (answer: unknown) => void;
type Reject = (reason: unknown) => void;

let resolve: Resolve;
let reject: Reject;

/** One for all promises: a function for each would be a fifth of what an operation allocates. */
const executor = (resolveThis: Resolve, rejectThis: Reject): void => {
  resolve = resolveThis;
  reject = rejectThis;
};

/** Begins an operation: a claim, if it has an owner. */
export function createOperation(
  phrase: Phrase,
  reader: Reader<unknown>,
  owner: string | undefined,
  endMs: number,
): Operation {
  const answer = new Promise(executor);
  return {
    phrase,
    reader,
    answer,
    resolve,
    reject,
    owner,
    endMs,
    isGivenUp: false,
    hasEnded: false,
    flight: undefined,
    sibling: undefined,
  };
}
