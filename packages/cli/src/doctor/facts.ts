/** What was seen of the servers. Nothing here says whether it is good: see `judge.ts`. */

/** All that is judged. */
export interface Facts {
  readonly servers: readonly ServerFacts[];
  /** The longest ttl that locks are asked for, in milliseconds. */
  readonly ttlMs: number;
  /** How long any one server has to answer, in milliseconds. */
  readonly nodeTimeoutMs: number;
  /** How long a server that has restarted does not vote, in milliseconds; 0: it votes at once. */
  readonly restartGuardMs: number;
}

/** One server. */
export interface ServerFacts {
  readonly name: string;
  readonly address: AddressFacts;
  /** Why it cannot be used at all, or null. */
  readonly failure: string | null;
  /** What was seen of it; null where it cannot be used. */
  readonly view: ServerView | null;
}

/** Where a server is, and how it is spoken to. */
export interface AddressFacts {
  /** The machine it runs on: an IP address, or `local` for this one; null while there is no connection. */
  readonly machine: string | null;
  readonly isTls: boolean;
  /** The number of the logical database. */
  readonly database: number;
}

/** What a server that answers shows. What its user may not see is null. */
export interface ServerView {
  readonly latency: Latency;
  readonly clock: ClockFacts | null;
  readonly info: Info | null;
  /** What `appendfsync` is set to. */
  readonly appendfsync: string | null;
  /** Whether it does not wait for the disk while it saves or rewrites (`no-appendfsync-on-rewrite`). */
  readonly pausesFsync: boolean;
  /** How many sentinels watch it. */
  readonly sentinels: number | null;
  readonly access: Access;
  /** Why a lock that was tried could not be had, extended and released; null if it could. */
  readonly lockFailure: string | null;
}

/** How long a server takes to answer, in milliseconds, one request at a time. */
export interface Latency {
  readonly medianMs: number;
  readonly p99Ms: number;
  /** How many requests were measured. */
  readonly pings: number;
}

/** What a server's clock shows beyond that of this machine, in milliseconds. */
export interface ClockFacts {
  readonly aheadMs: number;
  /** It is at most so much more or less. */
  readonly uncertaintyMs: number;
}

/** What `INFO` says. */
export interface Info {
  readonly product: "Redis" | "Valkey";
  readonly version: string;
  readonly runId: string;
  readonly uptimeMs: number;
  /** The master that it copies; null if it is a master itself. */
  readonly replicaOf: string | null;
  /** How many replicas copy it. */
  readonly replicas: number;
  readonly isCluster: boolean;
  readonly appendonly: boolean;
  /** In bytes; 0: no limit. */
  readonly maxmemory: number;
  readonly maxmemoryPolicy: string;
}

/** What the user may do. */
export interface Access {
  /** The permissions that locking lacks, as `ACL SETUSER` takes them. */
  readonly missing: readonly string[];
  /** The permissions that are missing for notifications, and for waiting lists that name the next waiter. */
  readonly missingForWakeUps: readonly string[];
  /** The commands that the server does not have. */
  readonly unknownCommands: readonly string[];
  /** Whether anybody may connect without a password; null where that could not be tried. */
  readonly isOpen: boolean | null;
}
