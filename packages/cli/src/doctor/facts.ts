/** The observed facts about the servers. Nothing here says whether they are good: see `judge.ts`. */

/** The facts to judge. */
export interface Facts {
  readonly servers: readonly ServerFacts[];
  /** The longest ttl of the user's locks, in milliseconds. */
  readonly ttlMs: number;
  /** The timeout of each server, in milliseconds. */
  readonly nodeTimeoutMs: number;
  /** How long a server does not vote after its start, in milliseconds; 0: it votes at once. */
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
}

/** The location of a server, and the connection to it. */
export interface AddressFacts {
  /** The machine it runs on: an IP address, or `local` for this one; null while there is no connection. */
  readonly machine: string | null;
  readonly isTls: boolean;
  /** The number of the logical database. */
  readonly database: number;
}

/** The observations of a server that replies. Everything that its user may not see is null. */
export interface ServerView {
  readonly latency: Latency;
  readonly clock: ClockFacts | null;
  readonly info: Info | null;
  /** The setting `appendfsync`. */
  readonly appendfsync: string | null;
  /** Whether it does not wait for the disk during a save or a rewrite (`no-appendfsync-on-rewrite`). */
  readonly pausesFsync: boolean;
  /** The number of sentinels that monitor it. */
  readonly sentinels: number | null;
  readonly access: Access;
  /** The reason why a trial lock could not be acquired, extended and released; null if it could. */
  readonly lockFailure: string | null;
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

/** The fields of `INFO`. */
export interface Info {
  readonly product: "Redis" | "Valkey";
  readonly version: string;
  readonly runId: string;
  readonly uptimeMs: number;
  /** The master that it replicates; null if it is a master itself. */
  readonly replicaOf: string | null;
  /** The number of its replicas. */
  readonly replicas: number;
  readonly isCluster: boolean;
  readonly appendonly: boolean;
  /** The limit in bytes; 0: no limit. */
  readonly maxmemory: number;
  readonly maxmemoryPolicy: string;
}

/** The permissions of the user. */
export interface Access {
  /** The missing permissions for locks, in the syntax of `ACL SETUSER`. */
  readonly missing: readonly string[];
  /** The missing permissions for notifications, and for waiting lists that name the next waiter. */
  readonly missingForWakeUps: readonly string[];
  /** The commands that the server lacks. */
  readonly unknownCommands: readonly string[];
  /** Whether clients may connect without a password; null if this could not be tested. */
  readonly isOpen: boolean | null;
}
