import { assertFloor, type Floor, type FloorRequest, type ScanPortion } from "@holdfast/core/node";
import type { Claims, LockFile } from "./lock-file.ts";

/** Raises the floor of all counters, and the epoch, each unless it is as high already. */
export function raiseFloor(claims: Claims, request: FloorRequest): Floor {
  assertFloor(request);
  const before = claims.readFloor();
  const raised = { floor: Math.max(before.floor, request.floor), epoch: Math.max(before.epoch, request.epoch) };
  if (raised.floor > before.floor || raised.epoch > before.epoch) claims.writeFloor(raised);
  return raised;
}

const cursorStart = "after ";

/** Reads the counters and claims of a page of the file. A cursor names the last resource of the page before. */
export function scan(file: LockFile, cursor: string = cursorStart): ScanPortion {
  if (!cursor.startsWith(cursorStart)) throw new RangeError("no scan of this node has this cursor");
  const { nowMs, claims, last } = file.page(cursor.slice(cursorStart.length));
  return {
    counters: claims.length,
    highest: Math.max(0, ...claims.map(({ fence }) => fence)),
    claims: claims.flatMap(({ resource, owner, expiresAtMs }) =>
      owner === null ? [] : [{ resource, owner, remainingMs: expiresAtMs - nowMs }],
    ),
    ...(last !== undefined && { cursor: cursorStart + last }),
  };
}
