import type { NodeView } from "@holdfast/core";
import type { LockFile } from "./lock-file.ts";

/** Returns the owner of the resource, its remaining time, and the fence counter. */
export function inspect(file: LockFile, resource: string): NodeView {
  const { nowMs, read } = file.look();
  const { owner, expiresAtMs, fence } = read(resource);
  return { owner, remainingMs: owner === null ? null : expiresAtMs - nowMs, fence };
}
