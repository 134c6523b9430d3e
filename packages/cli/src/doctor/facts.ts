/** The observed facts about the servers. Nothing here says whether they are good: see `judge.ts`. */
import type { JointPositions } from "../servers/sets.ts";

/** The facts to judge. */
export interface Facts {
  readonly servers: readonly ServerFacts[];
  /** Which of the servers are in the old and in the new set, by position; null if they are one set. */
  readonly joint: JointPositions | null;
  /** The generation of the user's clients. */
  readonly generation: number;
  /** The longest ttl of the user's locks, in milliseconds. */
  readonly ttlMs: number;
  /** The timeout of each server, in milliseconds. */
  readonly nodeTimeoutMs: number;
  /** The largest timeout that a node suggests, in milliseconds; 0: none does. */
  readonly suggestedNodeTimeoutMs: number;
  /** How long a Redis server does not vote after its start, in milliseconds; 0: it votes at once. */
  readonly restartGuardMs: number;
}

/** The facts about one server. */
export interface ServerFacts {
  readonly name: string;
  readonly address: AddressFacts;
  /** The reason why it cannot be used at all, or null. */
  readonly failure: string | null;
  /** The observations; null if it cannot be used. */
  readonly view: ServerView | null;
  /** The floor, the epoch and the number of fence counters; null if it has no such things, or does not tell. */
  readonly stored: Stored | null;
}

/** The location of a server, and the connection to it. */
export interface AddressFacts {
  /** The machine it runs on: an IP address, or `local` for this one; null while there is no connection. */
  readonly machine: string | null;
  readonly isTls: boolean;
  /** The number of the logical database of a Redis server; null for others. */
  readonly database: number | null;
}

/** The kinds of servers that the doctor knows. */
export type KindName = "redis" | "postgres" | "mysql" | "etcd" | "sqlite";

/**
 * The observations of a server that replies, whatever its kind. Each kind adds its own. Everything that the user may not
 * see is null.
 */
export interface ServerView {
  readonly kind: KindName;
  readonly latency: Latency | null;
  readonly clock: ClockFacts | null;
  /** The reason why a trial lock could not be acquired, extended and released; null if it could. */
  readonly lockFailure: string | null;
  readonly summary: Summary;
}

/** What the report shows about a server of any kind. Null if the user may not see it. */
export interface Summary {
  /** A value that no other server has. */
  readonly identity: string | null;
  /** The product and its version. */
  readonly version: string | null;
  readonly uptimeMs: number | null;
  /** When it writes to disk. */
  readonly onDisk: string | null;
  /** The number of servers that take its place together, if there are several. */
  readonly members?: number;
}

/** The latency of sequential requests, in milliseconds. */
export interface Latency {
  readonly medianMs: number;
  readonly p99Ms: number;
  /** The number of measured requests. */
  readonly pings: number;
}

/** The difference of a server's clock to that of this machine, in milliseconds. */
export interface ClockFacts {
  readonly aheadMs: number;
  /** The maximum error of the difference. */
  readonly uncertaintyMs: number;
}

/** What a server keeps for all its locks together. */
export interface Stored {
  /** Every fence counter below this counts as this; 0 if there is no floor. */
  readonly floor: number;
  /** The server serves clients whose epoch differs from this by 1 at most; 0 if it serves all. */
  readonly epoch: number;
  /** How many fence counters were read; null if they could not be. */
  readonly counters: number | null;
  /** Whether these are all counters of the server. */
  readonly isComplete: boolean;
}
