import type { RedlockOptions } from "@holdfast/core";
import type { Grant, Visit } from "../history/visit.ts";

/** What a client process is started with. */
export interface ClientOrder {
  /** Its name, such as `c1`. */
  readonly client: string;
  /** The source of the module that connects to the servers, for messages. */
  readonly adapter: string;
  /** The path of its bundle. */
  readonly module: string;
  /** The addresses of all servers that the run will ever have, by name. */
  readonly urls: Readonly<Record<string, string>>;
  readonly storeUrl: string;
  readonly redlock: Pick<RedlockOptions, "ttlMs" | "nodeTimeoutMs" | "waitTimeoutMs" | "retryDelayMaxMs">;
  /** How far the clock of the process is ahead of the true time, in milliseconds; behind it if negative. Default: 0. */
  readonly clockAheadMs?: number;
  /** Whether its requests have no epoch. */
  readonly ignoresEpochs?: boolean;
}

/** What a client does again and again: it takes a lock, visits the sets, and rests. */
export interface Task {
  /** The resources of which it locks one at a time. */
  readonly resources: readonly string[];
  /** More of them, which nobody locks while clients are joint: only a floor takes their tokens to the new servers. */
  readonly quietResources?: readonly string[];
  /** Whether it stands for election, and visits the sets in its terms. */
  readonly election?: boolean;
  /** Whether locks are extended automatically. */
  readonly autoExtend?: boolean;
  /**
   * Whether it asks for locks in all ways, of up to four resources, nests them, and ends only after its current locks. Calls
   * that may give up do so within this time, in milliseconds.
   */
  readonly mixed?: { readonly patienceMaxMs: number };
  /** Every so many visits, the lock is extended during the visit. */
  readonly extendEvery: number;
  /** The shortest and the longest visit, in milliseconds. */
  readonly dwellMs: readonly [number, number];
  /** The shortest and the longest time from one visit to the next call, in milliseconds. */
  readonly restMs: readonly [number, number];
  /** What the names of its sets begin with. They end with the resource. Without, it visits no sets. */
  readonly sets?: string;
  /** Draws all of this. */
  readonly seed: number;
}

/** An error that a client got from a lock. */
export interface ClientError {
  readonly client: string;
  readonly stage: string;
  readonly atMs: number;
  readonly message: string;
}

/** A report about a client. Its process sends all of them, except for the last one. */
export type ClientMessage =
  | { readonly kind: "granted"; readonly client: string; readonly grant: Grant }
  /** It has checked that it still holds the lock, and is about to write. */
  | { readonly kind: "writing"; readonly client: string; readonly resource: string }
  /** It is about to release its lock, and relies on it no longer. */
  | { readonly kind: "releasing"; readonly client: string; readonly resource: string; readonly atMs: number }
  | { readonly kind: "visited"; readonly client: string; readonly visit: Visit }
  | ({ readonly kind: "failed" } & ClientError)
  /** Its process was killed. */
  | { readonly kind: "killed"; readonly client: string; readonly atMs: number };
