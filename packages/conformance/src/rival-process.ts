/** The process in which the suite opens rivals: opens nodes and performs calls for the suite, which starts it. */
import type { LockNode } from "@holdfast/core";
import type { OpenedNode, OpenNode } from "./subject.ts";

/** A request of the suite to this process. `id` identifies the call, `handle` the node. */
export type RivalRequest = { readonly id: number } & (
  | { readonly kind: "open"; readonly handle: number; readonly url: string; readonly options: unknown }
  | { readonly kind: "call"; readonly handle: number; readonly method: RivalMethod; readonly argument: unknown }
  | { readonly kind: "close"; readonly handle: number }
);

/** The methods of a node that can be called from another process. */
const rivalMethods = ["acquire", "extend", "release", "inspect", "raiseFloor", "scan"] as const;
type RivalMethod = (typeof rivalMethods)[number];

/** The reply to the request with this `id`. */
export type RivalReply = { readonly id: number } & (
  | { readonly value: unknown; readonly error?: undefined }
  | { readonly error: RivalError }
);

/** The fields of an error that the suite looks at. */
export interface RivalError {
  readonly message: string;
  readonly stack: string | undefined;
  readonly code?: unknown;
}

/** The value of the reply to `open`: facts that the suite cannot see from outside. */
export interface OpenedRival {
  readonly name: string;
  readonly methods: readonly RivalMethod[];
}

const opened = new Map<number, OpenedNode>();

process.on("message", async (request: RivalRequest) => {
  reply(
    await answer(request).then(
      (value) => ({ id: request.id, value }),
      (error) => ({ id: request.id, error: fieldsOf(error) }),
    ),
  );
});
// The suite has ended, for any reason.
process.on("disconnect", () => process.exit());

function fieldsOf(error: Partial<RivalError> | undefined): RivalError {
  return { message: String(error?.message ?? error), stack: error?.stack, code: error?.code };
}

function reply(message: RivalReply): void {
  if (process.connected) process.send?.(message);
}

async function answer(request: RivalRequest): Promise<unknown> {
  if (request.kind === "open") return open(request.handle, request.url, request.options);
  const { node, close } = opened.get(request.handle) as OpenedNode;
  if (request.kind === "call") return (node as Required<LockNode>)[request.method](request.argument as never);
  opened.delete(request.handle);
  return close();
}

async function open(handle: number, url: string, options: unknown): Promise<OpenedRival> {
  const { openNode } = (await import(url)) as { readonly openNode?: OpenNode };
  if (typeof openNode !== "function") throw new TypeError(`${url} must export a function openNode`);
  const rival = await openNode(options);
  opened.set(handle, { node: rival.node, close: () => rival.close() });
  return { name: rival.node.name, methods: rivalMethods.filter((method) => rival.node[method] !== undefined) };
}
