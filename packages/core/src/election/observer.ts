import { assertOptions, checkType } from "@holdfast/core/requests";
import type { TermEndedError } from "./term.ts";

/**
 * Callbacks for logs, metrics and traces of elections. Each is optional, is called synchronously, and receives plain
 * data. An observer cannot affect an election: errors that it throws or rejects with are ignored. The observer of the
 * `Redlock` reports the attempts of a campaign, and the nodes that fail.
 */
export interface ElectionObserver {
  /** A term has begun in this process. */
  elected?(event: ElectedEvent): void;
  /** A term of this process has ended. */
  termEnded?(event: TermEndedEvent): void;
  /** An attempt to stand for election failed. The campaign tries again later. */
  campaignFailed?(event: CampaignFailedEvent): void;
}

/** See {@link ElectionObserver.elected}. */
export interface ElectedEvent {
  /** The name of the election. */
  readonly name: string;
  /** The value that signs the leader's claim on the nodes. */
  readonly owner: string;
  /** The number of the term. */
  readonly fence: number;
  /** How long this process stood for election, in milliseconds. */
  readonly waitedMs: number;
}

/** See {@link ElectionObserver.termEnded}. */
export interface TermEndedEvent {
  /** The name of the election. */
  readonly name: string;
  /** The value that signs the leader's claim on the nodes. */
  readonly owner: string;
  /** The number of the term. */
  readonly fence: number;
  /** How long the term was, in milliseconds. */
  readonly ledMs: number;
  /** Why it ended. */
  readonly error: TermEndedError;
}

/** See {@link ElectionObserver.campaignFailed}. */
export interface CampaignFailedEvent {
  /** The name of the election. */
  readonly name: string;
  /** The error of the attempt. */
  readonly error: unknown;
  /** When the campaign tries again, in milliseconds from now. */
  readonly retryInMs: number;
}

const callbackNames: readonly (keyof ElectionObserver)[] = ["elected", "termEnded", "campaignFailed"];

/**
 * Checks an observer, and wraps it so that its errors cannot reach an election. An instance of a class may have other
 * members besides the callbacks.
 *
 * @throws {TypeError} if it is not an object, has a callback that is not a function, or a plain object has an unknown
 *   member
 */
export function safeObserver(observer: ElectionObserver = {}): Required<ElectionObserver> {
  const prototype = Object.getPrototypeOf(Object(observer));
  if (prototype === Object.prototype || prototype === null || typeof observer !== "object") {
    assertOptions(observer, callbackNames, "an observer of an election");
  }
  for (const name of callbackNames) {
    if (observer[name] !== undefined) checkType(`observer.${name}`, "function", observer[name]);
  }
  const notify =
    <Name extends keyof ElectionObserver>(name: Name) =>
    (event: never): void => {
      try {
        const result: unknown = observer[name]?.(event);
        if (result instanceof Promise) result.catch(() => {});
      } catch {
        // A failing observer must not fail the election.
      }
    };
  return {
    elected: notify("elected"),
    termEnded: notify("termEnded"),
    campaignFailed: notify("campaignFailed"),
  };
}
