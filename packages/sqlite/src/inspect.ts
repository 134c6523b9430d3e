import type { NodeView } from "@holdfast/core/node";
import type { LockFile } from "./lock-file.ts";

/** Returns the owner of the resource, its remaining time, the fence counter, and the floor of all counters. */
export function inspect(file: LockFile, resource: string): NodeView {
  const { nowMs, read, readFloor } = file.look();
  const { owner, expiresAtMs, fence } = read(resource);
  const { floor } = readFloor();
  const remainingMs = owner === null ? null : expiresAtMs - nowMs;
  return { owner, remainingMs, fence, ...(floor > 0 && { floor }) };
}
