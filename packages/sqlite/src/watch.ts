import { type FSWatcher, watch as watchFile } from "node:fs";
import type { Unwatch } from "@holdfast/core/node";
import type { LockFile } from "./lock-file.ts";

type OnReleased = (resource: string, next?: string) => void;

/** Returns a function that calls `onReleased` when any process has released one of the resources. */
export function createWatch(file: LockFile): (resources: readonly string[], onReleased: OnReleased) => Unwatch {
  const watches = new Set<{ readonly resources: ReadonlySet<string>; readonly onReleased: OnReleased }>();
  let watcher: FSWatcher | undefined;
  let known = 0;

  const report = (): void => {
    for (const { id, resource, next } of file.releasesAfter(known)) {
      known = id;
      for (const { resources, onReleased } of watches) if (resources.has(resource)) onReleased(resource, next);
    }
  };
  const start = (): FSWatcher => {
    const started = watchFile(file.changing, { persistent: false, signal: file.closed });
    started.on("change", () => {
      try {
        report();
      } catch {} // the file was busy or is closed: a lost notification costs time, not locks
    });
    started.on("error", () => {});
    known = file.latestRelease(); // after the watch has begun, so that no release is missed
    return started;
  };

  return (resources, onReleased) => {
    file.closed.throwIfAborted();
    watcher ??= start();
    const watch = { resources: new Set(resources), onReleased };
    watches.add(watch);
    return async () => {
      watches.delete(watch);
      if (watches.size > 0) return;
      watcher?.close();
      watcher = undefined;
    };
  };
}
