import type { Visit } from "../history/visit.ts";

/** What a client process connects to. */
export interface ClientOrder {
  /** Its name, such as `c1`. */
  readonly client: string;
  /** The source of the module that connects to the servers, for messages. */
  readonly adapter: string;
  /** The path of its bundle. */
  readonly module: string;
  readonly urls: readonly string[];
  readonly storeUrl: string;
  readonly ttlMs: number;
  readonly nodeTimeoutMs: number;
}

/** How clients contend during an attack. */
export interface Contention {
  /** The number of the slice, which has sets of its own. */
  readonly slice: number;
  /** Whether clients stand for election. */
  readonly election: boolean;
  /** The shortest and the longest visit, in milliseconds. */
  readonly dwellMs: readonly [number, number];
  /** Whether nodes are guarded against servers that restarted. */
  readonly guarded: boolean;
}

/** What a client process reports. */
export type FromClient =
  | { readonly kind: "granted"; readonly fence: number; readonly attemptAtMs: number; readonly grantedAtMs: number }
  /** It has checked that it still holds the lock, and is about to write. */
  | { readonly kind: "writing"; readonly fence: number }
  | { readonly kind: "visited"; readonly visit: Visit };
