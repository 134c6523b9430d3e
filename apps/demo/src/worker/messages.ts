import type { ClientLibrary } from "../clients/client-library.ts";
import type { DemoEvent } from "../events.ts";
import type { Setup } from "../setup.ts";

/** What a worker process is started with. */
export interface WorkerOrder {
  readonly worker: string;
  readonly role: "contender" | "sleeper";
  /** What it reaches the servers with. */
  readonly library: ClientLibrary;
  readonly nodes: readonly { readonly name: string; readonly url: string }[];
  readonly databaseUrl: string;
  readonly setup: Setup;
}

/** What the parent tells a worker process: to begin; after the nap, to write; to finish. */
export type ToWorker = "start" | "write" | "stop";

/** What a worker process tells its parent. */
export type FromWorker =
  | { readonly kind: "ready"; readonly metricsUrl: string | undefined }
  /** The sleeper has looked at its lock, and writes as soon as it is told to. */
  | { readonly kind: "about-to-write" }
  | { readonly kind: "event"; readonly event: DemoEvent };
