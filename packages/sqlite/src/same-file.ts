import { type BigIntStats, statSync } from "node:fs";
import type { ServerIdentity } from "@holdfast/core/node";

/**
 * Returns a function that throws if the file has been deleted or replaced since: this process would go on with the old
 * file, other processes would open the new one, and both could grant the same lock.
 */
export function createSameFileCheck(path: string): () => void {
  const opened = stat(path);
  return () => {
    const current = stat(path);
    if (current !== undefined && current.ino === opened?.ino && current.dev === opened.dev) return;
    throw new Error(`the lock file ${path} was deleted or replaced: restart all processes that use it`);
  };
}

/** Returns what identifies the file, whatever its path. */
export function identityOf(path: string): ServerIdentity {
  const found = stat(path);
  return { id: found && `file ${found.ino} of device ${found.dev}`, isReplica: false };
}

function stat(path: string): BigIntStats | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}
