import type { ConfigurationError, NodeOutcome } from "./errors.ts";
import type { NodeView } from "./lock-node.ts";

/** What a node said to a question, in the words in which errors tell of it. */
export interface Answer extends Omit<NodeOutcome, "node"> {
  /** What it knows about a resource, where it was asked to `inspect` it. */
  readonly view?: NodeView;
  /** Whom it named as the next when it was asked to release. */
  readonly next?: string;
}

/** The answers to one question so far, counted. */
export interface Tally {
  /** In the order of the nodes: undefined where a node has not answered. */
  readonly answers: readonly (Answer | undefined)[];
  /** How many said what was hoped for, and how many something else. */
  yes: number;
  no: number;
  /** How many have not answered. The others have failed, if they said neither. */
  missing: number;
  /** How many of those that failed said that it can never work like this. */
  misconfigured: number;
}

/** What came of asking nobody. */
export const noAnswers: Tally["answers"] = [];

/** Counts whatever a node says, as long as it says something. */
export function anyAnswer(): boolean {
  return true;
}

/** Whether a quorum has said yes, or none can any more. */
export function isCertain({ yes, missing }: Tally, quorum: number): boolean {
  return yes >= quorum || yes + missing < quorum;
}

/** Whether the node said that it can never work like this. By the code, as the error may be of another copy of this package. */
export function isMisconfigured({ error }: Answer): boolean {
  try {
    return (error as Partial<ConfigurationError> | undefined)?.code === "MISCONFIGURED";
  } catch {
    return false; // the getter of a strange error
  }
}
