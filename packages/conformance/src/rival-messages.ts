import type { Contest } from "./contend.ts";

/** What the suite asks of a process with nodes in it. `id` tells the calls apart, `handle` the nodes. */
export type RivalRequest = { readonly id: number } & (
  | { readonly kind: "open"; readonly handle: number; readonly url: string; readonly options: unknown }
  | { readonly kind: "call"; readonly handle: number; readonly method: RivalMethod; readonly argument: unknown }
  | { readonly kind: "contend"; readonly handle: number; readonly contest: Contest }
  | { readonly kind: "close"; readonly handle: number }
);

/** The methods of a node that can be called from another process. */
export type RivalMethod = "acquire" | "extend" | "release" | "inspect";

/** What the process answers to the request with this `id`. */
export type RivalReply = { readonly id: number } & (
  | { readonly value: unknown; readonly error?: undefined }
  | { readonly error: { readonly message: string; readonly stack: string | undefined } }
);

/** The answer to `open`: what the suite cannot see from outside. */
export interface OpenedRival {
  readonly name: string;
  readonly inspect: boolean;
}
