// src/watch.ts
import { watch as watchFile } from "node:fs";
import type { Unwatch } from "@holdfast/core";
import type { LockFile } from "./lock-file.ts";

/** Calls `onReleased` when any process has released one of the resources. */
export function watch(file: LockFile, resources: readonly string[], onReleased: (resource: string) => void): Unwatch {
  const releasesOf = (resource: string): number => file.look().read(resource).releases;
  const tellReleased = (): void => {
    for (const [resource, known] of counted) {
      const releases = releasesOf(resource);
      if (releases === known) continue;
      counted.set(resource, releases);
      onReleased(resource);
    }
  };
  // SQLite writes each change to this file first. Watching begins before counting, so that no release is missed.
  const watcher = watchFile(`${file.path}-wal`, { persistent: false, signal: file.closed });
  const counted = new Map(resources.map((resource) => [resource, releasesOf(resource)]));
  watcher.on("change", () => {
    try {
      tellReleased();
    } catch {} // the file was busy: the next change notifies, and a lost hint costs time, not locks
  });
  watcher.on("error", () => {});
  return async () => watcher.close();
}
