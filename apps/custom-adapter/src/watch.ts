// src/watch.ts
import { watch as watchFile } from "node:fs";
import type { Unwatch } from "@holdfast/core";
import type { LockFile } from "./lock-file.ts";

/** Calls back when one of the resources has been released, by whichever process. */
export function watch(
  file: LockFile,
  resources: readonly string[],
  onReleased: (resource: string) => void,
): Unwatch {
  // SQLite appends every change to this file. The watch begins before the first look, so that none is missed.
  const watcher = watchFile(`${file.path}-wal`, { persistent: false, signal: file.closed }, () => {
    const { read } = file.look();
    for (const [resource, seen] of releases) {
      const now = read(resource).releases;
      if (now === seen) continue;
      releases.set(resource, now);
      onReleased(resource);
    }
  });
  watcher.on("error", () => {}); // a hint that never comes costs time, not locks
  const { read } = file.look();
  const releases = new Map(resources.map((resource) => [resource, read(resource).releases]));
  return async () => watcher.close();
}
