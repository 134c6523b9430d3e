/** Workers of one kind in one process, who all want the same and start again as soon as they have released it. */
export interface Party {
  readonly name: string;
  readonly workers: number;
  readonly resources: readonly string[];
}

/** How a process locks: as by default, with `wakeUps: false`, or by another library's protocol. */
export type Client = "listening" | "deaf" | "other";

/** What one process does. Over memory nodes it is one `Redlock` of several in the same process. */
export interface ProcessPlan {
  readonly client: Client;
  readonly parties: readonly Party[];
}

/** Where the real servers are. */
export interface ServerAddress {
  readonly url: string;
  readonly pid: number;
}

/** What a forked process measures. */
export type Order =
  | { readonly measure: "contention"; readonly plans: readonly ProcessPlan[]; readonly ms: number }
  | { readonly measure: "stall"; readonly crowd: Crowd }
  | { readonly measure: "tries"; readonly maxWaiters: number }
  | { readonly measure: "pauses" }
  | { readonly measure: "hang"; readonly ms: number };

/** How a crowd of waiters ends. */
export type Crowd = "sets" | "time-outs" | "aborts" | "release";

/** An order, and the servers to carry it out over: none for memory nodes. */
export interface PlacedOrder {
  readonly order: Order;
  readonly servers: readonly ServerAddress[];
}

/** Figures by their names. */
export type Figures = Record<string, number>;
