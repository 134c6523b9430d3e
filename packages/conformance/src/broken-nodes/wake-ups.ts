import type { BrokenWrapper } from "./broken-node.ts";

/** Faults in the notifications of watchers. */
export const brokenWakeUps: readonly BrokenWrapper[] = [
  {
    fault: "never notifies a watcher",
    caughtBy: "watch() notifies of a release by the rival client",
    sees: "watch",
    breakIt: () => ({ watch: async () => async () => {} }),
  },
  {
    fault: "notifies a watcher of every release",
    caughtBy: "watch() of several resources notifies of each by its name, and of no other",
    sees: "watch",
    breakIt: (node) => {
      const watchers = new Set<(resource: string) => void>();
      return {
        async watch(_resources, onReleased) {
          watchers.add(onReleased);
          return async () => void watchers.delete(onReleased);
        },
        async release(request) {
          const reply = await node.release(request);
          for (const tell of watchers) for (const resource of request.resources) tell(resource);
          return reply;
        },
      };
    },
  },
  {
    fault: "notifies a watcher with the name that the server keeps",
    caughtBy: "watch() notifies of a release by the rival client",
    sees: "watch",
    breakIt: (node) => ({ watch: (resources, tell) => node.watch(resources, (resource) => tell(`lock:${resource}`)) }),
  },
  {
    fault: "notifies watchers of resources that a release did not free",
    caughtBy: "watch() does not notify of resources that release() did not free",
    sees: "watch",
    breakIt: (node) => {
      const watchers = new Map<object, { resources: readonly string[]; tell: (resource: string) => void }>();
      return {
        async watch(resources, tell) {
          const key = {};
          watchers.set(key, { resources, tell });
          return async () => void watchers.delete(key);
        },
        async release(request) {
          for (const { resources, tell } of watchers.values()) {
            request.resources.filter((resource) => resources.includes(resource)).forEach(tell);
          }
          return node.release(request);
        },
      };
    },
  },
  {
    fault: "notifies a watcher that has ended its watch",
    caughtBy: "unwatch() ends the watch, and only that one",
    sees: "watch",
    breakIt: (node) => ({
      async watch(resources, onReleased) {
        await node.watch(resources, onReleased);
        return async () => {};
      },
    }),
  },
  {
    fault: "ends all watches when one is ended",
    caughtBy: "unwatch() ends the watch, and only that one",
    sees: "watch",
    breakIt: (node) => {
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
  {
    fault: "ends another watch when the same watch is ended twice",
    caughtBy: "unwatch() called again does not affect other watches of the resource",
    sees: "watch",
    breakIt: (node) => {
      const ends: (() => Promise<void>)[] = [];
      return {
        async watch(resources, onReleased) {
          ends.push(await node.watch(resources, onReleased));
          return async () => void (await ends.pop()?.());
        },
      };
    },
  },
  {
    fault: "keeps only one watcher of a resource",
    caughtBy: "watch() serves several watchers of one resource, of either client",
    sees: "watch",
    breakIt: (node) => {
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
  {
    fault: "grants a resource that was denied only after a release, and not after an expiry",
    caughtBy: "watch() is not needed for progress: an expired claim is free without a notification",
    sees: "watch",
    breakIt: (node) => {
      const awaited = new Set<string>();
      return {
        async acquire(request) {
          if (request.resources.some((resource) => awaited.has(resource))) return { granted: false };
          const reply = await node.acquire(request);
          if (!reply.granted) for (const resource of request.resources) awaited.add(resource);
          return reply;
        },
        release(request) {
          for (const resource of request.resources) awaited.delete(resource);
          return node.release(request);
        },
      };
    },
  },
];
