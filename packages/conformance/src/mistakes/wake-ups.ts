import type { NodeMistake } from "./mistake.ts";

/** Mistakes about who hears of a release. */
export const brokenWakeUps: readonly NodeMistake[] = [
  {
    mistake: "never tells a watcher",
    caughtBy: "watch() hears of a release by the rival client",
    sees: "watch",
    breakIt: () => ({ watch: async () => async () => {} }),
  },
  {
    mistake: "tells a watcher of every release",
    caughtBy: "watch() of several resources hears of each by its name, and of no other",
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
    mistake: "tells a watcher by the name that the server keeps",
    caughtBy: "watch() hears of a release by the rival client",
    sees: "watch",
    breakIt: (node) => ({ watch: (resources, tell) => node.watch(resources, (resource) => tell(`lock:${resource}`)) }),
  },
  {
    mistake: "tells watchers of what a release did not free",
    caughtBy: "watch() hears of nothing that release() did not free",
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
    mistake: "goes on telling a watcher that has ended its watch",
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
    mistake: "ends the watches of all when one is ended",
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
    mistake: "counts watchers down once more for each end of the same watch",
    caughtBy: "unwatch() called again is harmless, also to others that watch the resource",
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
    mistake: "has room for one watcher of a resource",
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
    mistake: "grants to who was denied only after a release, which an expiry does not announce",
    caughtBy: "watch() is not needed for progress: an expired claim is free, announced or not",
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
