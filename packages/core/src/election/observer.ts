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
