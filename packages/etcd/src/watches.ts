import type { ServiceError } from "@grpc/grpc-js";
import type { Unwatch } from "@holdfast/core";
import type { EtcdClient, WatchStream } from "./etcd-client.ts";
import { failureOf } from "./failures.ts";
import type { WatchResponse } from "./messages.ts";

/** The watches of one node: one stream for all of them, open while there are any. */
export interface Watches {
  /** Calls `onReleased` with a resource whenever its claim is deleted. Resolves once the server watches them all. */
  watch(resources: readonly string[], onReleased: (resource: string) => void): Promise<Unwatch>;
  /** Ends all watches, and refuses others. */
  close(): void;
}

/** The watch of one resource. */
interface Watch {
  readonly id: number;
  readonly resource: string;
  readonly key: Buffer;
  readonly listeners: Set<(resource: string) => void>;
  /** The first revision of which the server has not told yet; 0 if that is the next. */
  startRevision: number;
  /** Resolves once the server watches the key, and rejects if the first attempt fails. */
  readonly started: PromiseWithResolvers;
}

interface PromiseWithResolvers {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
}

/** How long the server may take to start a watch. */
const startTimeoutMs = 5_000;

/** How long to wait before a lost stream is opened again: doubled each time, up to `max`. */
const backOffMs = { first: 100, max: 5_000 };

/** Creates an empty collection. It opens no stream yet. */
export function createWatches(client: EtcdClient, claimKeyOf: (resource: string) => Buffer): Watches {
  const watches = new Map<string, Watch>();
  const watchesById = new Map<number, Watch>();
  let lastId = 0;
  let stream: WatchStream | undefined;
  let retry: NodeJS.Timeout | undefined;
  let delayMs = backOffMs.first;
  let isClosed = false;

  const create = (watch: Watch): void => {
    const { id, key, startRevision } = watch;
    stream?.write({ createRequest: { key, startRevision, filters: ["NOPUT"], watchId: id } });
  };
  const remove = (watch: Watch): void => {
    if (watches.get(watch.resource) !== watch) return;
    watches.delete(watch.resource);
    watchesById.delete(watch.id);
    if (watches.size === 0) closeStream();
    else stream?.write({ cancelRequest: { watchId: watch.id } });
  };
  const closeStream = (): void => {
    clearTimeout(retry);
    const closing = stream;
    stream = undefined;
    closing?.cancel();
  };

  const onResponse = (response: WatchResponse): void => {
    delayMs = backOffMs.first;
    const watch = watchesById.get(response.watchId);
    if (watch === undefined) return;
    if (response.canceled) {
      onCanceled(watch, response);
      return;
    }
    watch.startRevision = response.header.revision + 1;
    if (response.created) watch.started.resolve();
    for (const { type } of response.events) {
      if (type !== "DELETE") continue;
      for (const listener of watch.listeners) queueMicrotask(() => listener(watch.resource));
    }
  };
  const onCanceled = (watch: Watch, { compactRevision, cancelReason }: WatchResponse): void => {
    if (compactRevision !== 0) {
      watch.startRevision = compactRevision;
      create(watch);
      return;
    }
    watch.started.reject(new Error(`etcd ended the watch: ${cancelReason || "without a reason"}`));
    remove(watch);
  };

  /** A watch that has started once is started again; the caller of another one decides whether to try again. */
  const onEnd = (ended: WatchStream | undefined, error: Error): void => {
    if (stream !== ended) return;
    stream = undefined;
    for (const watch of [...watches.values()]) {
      if (watch.startRevision !== 0) continue;
      watch.started.reject(error);
      remove(watch);
    }
    if (watches.size === 0) return;
    retry = setTimeout(open, delayMs * (0.5 + Math.random() / 2)).unref();
    delayMs = Math.min(2 * delayMs, backOffMs.max);
  };
  const open = (): void => {
    const opening = client.openWatch(performance.now() + startTimeoutMs);
    void opening.then(
      (opened) => {
        opened.on("error", (error: ServiceError) => onEnd(opened, failureOf(error, "a member")));
        opened.on("end", () => onEnd(opened, new Error("etcd ended the stream of watches")));
        if (watches.size === 0 || stream !== undefined) {
          opened.cancel();
          return;
        }
        stream = opened;
        opened.on("data", onResponse);
        for (const watch of watches.values()) create(watch);
      },
      (error: Error) => onEnd(undefined, error),
    );
  };

  const start = (resource: string): Watch => {
    lastId += 1;
    const key = claimKeyOf(resource);
    const watch: Watch = {
      ...{ id: lastId, resource, key, listeners: new Set(), startRevision: 0 },
      started: promiseWithResolvers(),
    };
    watches.set(resource, watch);
    watchesById.set(lastId, watch);
    if (stream !== undefined) create(watch);
    else if (watches.size === 1) open();
    return watch;
  };

  return {
    async watch(resources, onReleased) {
      if (isClosed) throw new Error("the node is closed");
      const own = resources.map((resource) => watches.get(resource) ?? start(resource));
      // A new function for each call, in case the same `onReleased` watches twice.
      const listener = (resource: string): void => onReleased(resource);
      for (const watch of own) watch.listeners.add(listener);
      const unwatch = async (): Promise<void> => {
        for (const watch of own) {
          watch.listeners.delete(listener);
          if (watch.listeners.size === 0) remove(watch);
        }
      };
      const timer = setTimeout(() => {
        for (const { started } of own) started.reject(new Error("etcd did not start the watch in time"));
      }, startTimeoutMs).unref();
      try {
        await Promise.all(own.map(({ started }) => started.promise));
        return unwatch;
      } catch (error) {
        await unwatch();
        throw error;
      } finally {
        clearTimeout(timer);
      }
    },
    close() {
      isClosed = true;
      for (const { started } of watches.values()) started.reject(new Error("the node is closed"));
      watches.clear();
      watchesById.clear();
      closeStream();
    },
  };
}

function promiseWithResolvers(): PromiseWithResolvers {
  let settle: Omit<PromiseWithResolvers, "promise"> | undefined;
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  promise.catch(() => {}); // a watch may have no listener any more
  return { promise, ...(settle as Omit<PromiseWithResolvers, "promise">) };
}
