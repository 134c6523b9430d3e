import { type BigIntStats, statSync } from "node:fs";

/**
 * Returns a function that throws if the file has been deleted or replaced since: this process would go on with the old
 * file, other processes would open the new one, and both could grant the same lock.
 */
export function createSameFileCheck(path: string): () => void {
  const stat = (): BigIntStats | undefined => statSync(path, { bigint: true, throwIfNoEntry: false });
  const opened = stat();
  return () => {
    const current = stat();
    if (current !== undefined && current.ino === opened?.ino && current.dev === opened.dev) return;
    throw new Error(`the lock file ${path} was deleted or replaced: restart all processes that use it`);
  };
}
