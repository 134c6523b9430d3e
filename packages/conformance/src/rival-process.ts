/** Opens nodes in a process of its own, and answers the calls of the conformance suite. The suite starts it. */
import type { LockNode } from "@holdfast/core";
import { contend } from "./contend.ts";
import type { OpenedRival, RivalReply, RivalRequest } from "./rival-messages.ts";
import type { OpenedNode, OpenNode } from "./subject.ts";

const opened = new Map<number, OpenedNode>();

process.on("message", async (request: RivalRequest) => {
  reply(
    await answer(request).then(
      (value) => ({ id: request.id, value }),
      (error) => ({ id: request.id, error: { message: String(error?.message ?? error), stack: error?.stack } }),
    ),
  );
});
// The suite has ended, by whatever cause.
process.on("disconnect", () => process.exit());

function reply(message: RivalReply): void {
  if (process.connected) process.send?.(message);
}

async function answer(request: RivalRequest): Promise<unknown> {
  if (request.kind === "open") return open(request.handle, request.url, request.options);
  const { node, close } = opened.get(request.handle) as OpenedNode;
  if (request.kind === "call") return (node as Required<LockNode>)[request.method](request.argument as never);
  if (request.kind === "contend") return contend(node, request.contest);
  opened.delete(request.handle);
  return close();
}

async function open(handle: number, url: string, options: unknown): Promise<OpenedRival> {
  const { openNode } = (await import(url)) as { readonly openNode?: OpenNode };
  if (typeof openNode !== "function") throw new TypeError(`${url} must export a function openNode`);
  const rival = await openNode(options);
  opened.set(handle, { node: rival.node, close: () => rival.close() });
  return { name: rival.node.name, inspect: rival.node.inspect !== undefined };
}
