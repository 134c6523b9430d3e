import type { LockNode } from "@holdfast/core";
import { type BrokenNode, brokenIf } from "./broken-node.ts";

/** Announces each resource of a release, whether that frees it or not, to the watchers that `isTold` selects. */
function announcing(
  node: LockNode,
  isTold: (resource: string, watched: readonly string[]) => boolean,
): Partial<LockNode> {
  const watchers = new Map<object, { watched: readonly string[]; tell: (resource: string) => void }>();
  return {
    async watch(watched, tell) {
      const key = {};
      watchers.set(key, { watched, tell });
      return async () => void watchers.delete(key);
    },
    async release(request) {
      for (const { watched, tell } of watchers.values()) {
        for (const resource of request.resources) if (isTold(resource, watched)) tell(resource);
      }
      return node.release(request);
    },
  };
}

/** Faults in the notifications of watchers. */
export const brokenWakeUps: readonly BrokenNode[] = brokenIf(["watch"], {
  "watch() notifies of a release by the rival client": {
    "never notifies a watcher": () => ({ watch: async () => async () => {} }),
    "notifies a watcher with the name that the server keeps": (node) => ({
      watch: (resources, tell) => node.watch(resources, (resource) => tell(`lock:${resource}`)),
    }),
  },
  "watch() of several resources notifies of each by its name, and of no other": {
    "notifies a watcher of every release": (node) => announcing(node, () => true),
  },
  "watch() does not notify of resources that release() did not free": {
    "notifies watchers of resources that a release did not free": (node) =>
      announcing(node, (resource, watched) => watched.includes(resource)),
  },
  "unwatch() ends the watch, and only that one": {
    "notifies a watcher that has ended its watch": (node) => ({
      async watch(resources, onReleased) {
        await node.watch(resources, onReleased);
        return async () => {};
      },
    }),
    "ends all watches when one is ended": (node) => {
      const ends: (() => Promise<void>)[] = [];
      return {
        async watch(resources, onReleased) {
          ends.push(await node.watch(resources, onReleased));
          return async () => {
            for (const end of ends.splice(0)) await end();
          };
        },
      };
    },
  },
  "unwatch() called again does not affect other watches of the resource": {
    "ends another watch when the same watch is ended twice": (node) => {
      const ends: (() => Promise<void>)[] = [];
      return {
        async watch(resources, onReleased) {
          ends.push(await node.watch(resources, onReleased));
          return async () => void (await ends.pop()?.());
        },
      };
    },
  },
  "watch() serves several watchers of one resource, of either client": {
    "keeps only one watcher of a resource": (node) => {
      let end = async (): Promise<void> => {};
      return {
        async watch(resources, onReleased) {
          await end();
          end = await node.watch(resources, onReleased);
          return end;
        },
      };
    },
  },
});
