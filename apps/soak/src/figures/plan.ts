/** Workers of one kind in one process. All want the same resources, again and again. */
export interface Party {
  readonly name: string;
  readonly workers: number;
  readonly resources: readonly string[];
}

/** How a process locks: with the defaults, with `wakeUps: false`, or by the protocol of other libraries. */
export type Client = "listening" | "deaf" | "other";

/** The parties of one process. Over memory nodes, each plan is one of several `Redlock`s in the same process. */
export interface ProcessPlan {
  readonly client: Client;
  readonly parties: readonly Party[];
}

/** A real server. */
export interface ServerAddress {
  readonly url: string;
  readonly pid: number;
}

/** A measurement. */
export type Order =
  | { readonly measure: "contention"; readonly plans: readonly ProcessPlan[]; readonly ms: number }
  | { readonly measure: "stall"; readonly crowd: Crowd }
  | { readonly measure: "tries"; readonly maxWaiters: number }
  | { readonly measure: "pauses" }
  | { readonly measure: "hang"; readonly ms: number };

/** How a crowd of waiters ends. */
export type Crowd = "sets" | "time-outs" | "aborts" | "release";

/** Figures by name. */
export type Figures = Record<string, number>;
