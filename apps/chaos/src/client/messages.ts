import type { FailedCall, Visit } from "../history/visit.ts";

/** What a client process is started with. */
export interface ClientOrder {
  /** Its name, such as `c1`. */
  readonly client: string;
  /** The module that it reaches the servers with: a path or a URL. */
  readonly adapter: string;
  readonly urls: readonly string[];
  readonly storeUrl: string;
  readonly ttlMs: number;
  readonly nodeTimeoutMs: number;
}

/** How to contend for the lock until told to stop. */
export interface Contention {
  /** The number of the slice of the run, which has sets of its own. */
  readonly slice: number;
  /** How long a visit lasts, in milliseconds, at least and at the most. */
  readonly dwellMs: readonly [number, number];
  /** Whether nodes are guarded against servers that restarted. */
  readonly guarded: boolean;
}

/** What the parent tells a client process. */
export type ToClient = { readonly kind: "contend"; readonly contention: Contention } | { readonly kind: "stop" };

/** What a client process tells its parent. */
export type FromClient =
  | { readonly kind: "ready" }
  | { readonly kind: "granted"; readonly fence: number; readonly attemptAtMs: number; readonly grantedAtMs: number }
  /** It has looked whether it still holds the lock, and is on its way to write. */
  | { readonly kind: "writing"; readonly fence: number }
  | { readonly kind: "visited"; readonly visit: Visit }
  | { readonly kind: "failed"; readonly call: FailedCall }
  /** It has left the lock, and will not try for it again. */
  | { readonly kind: "drained" };
