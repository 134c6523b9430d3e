import type { Visit } from "../history/visit.ts";
import type { Stage } from "./stages.ts";

/** How processes reach the servers. */
export interface ServerAddresses {
  /** The addresses of all servers that the run will ever have, by name. */
  readonly urls: Readonly<Record<string, string>>;
  readonly library: "ioredis" | "node-redis";
  readonly restartGuardMs: number;
}

/** What a client process is started with. */
export interface MemberOrder extends ServerAddresses {
  /** Its name, such as `c1`. */
  readonly client: string;
  readonly stage: Stage;
  readonly storeUrl: string;
  readonly ttlMs: number;
  /** Whether its requests have no epoch. */
  readonly ignoresEpochs: boolean;
  /** How far the clock of the process is ahead of the true time, in milliseconds; behind it if negative. */
  readonly clockAheadMs: number;
  /** The resources of its short locks. */
  readonly resources: readonly string[];
  /** More of them, which nobody locks while clients are joint: only a floor takes their tokens to the new servers. */
  readonly quietResources: readonly string[];
  /** The resource of its long locks. */
  readonly longResource: string;
}

/** A lock that was granted. Times are on the clock that all processes of the machine share. */
export interface Granted {
  readonly client: string;
  readonly resource: string;
  readonly epoch: number;
  readonly fence: number;
  readonly attemptAtMs: number;
  readonly grantedAtMs: number;
  /** The time from the call to the lock, including a change of stage meanwhile. */
  readonly waitedMs: number;
}

/** A lock that has ended, as its client recorded it. */
export interface MemberVisit extends Visit {
  readonly resource: string;
  readonly epoch: number;
}

/** An error that a client got from a lock. */
export interface MemberError {
  readonly client: string;
  readonly epoch: number;
  readonly atMs: number;
  readonly message: string;
}

/** The functions of the parent that a client calls. */
export interface MemberEvents {
  granted(granted: Granted): void;
  /** The client is about to release its lock, and relies on it no longer. */
  releasing(client: string, resource: string, atMs: number): void;
  visited(visit: MemberVisit): void;
  failed(error: MemberError): void;
}
