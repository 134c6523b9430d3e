import type { ServiceError } from "@grpc/grpc-js";
import type { Unwatch } from "@holdfast/core/node";
import type { EtcdClient, WatchStream } from "./etcd-client.ts";
import { failureOf } from "./failures.ts";
import type { Keys } from "./keys.ts";
import type { WatchResponse } from "./messages.ts";

/** The watch of one resource. */
interface Watch {
  readonly id: number;
  readonly resource: string;
  readonly keys: Keys;
  readonly listeners: Set<(resource: string) => void>;
  /** The first revision not received yet; 0: start with the next one. */
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

/** The watches of one node: one stream for all of them, open while there are any. */
export class Watches {
  readonly #client: EtcdClient;
  readonly #keysOf: (resource: string) => Keys;
  /** By resource. */
  readonly #watches = new Map<string, Watch>();
  readonly #watchesById = new Map<number, Watch>();
  #lastId = 0;
  #stream: WatchStream | undefined;
  #retry: NodeJS.Timeout | undefined;
  #delayMs = backOffMs.first;
  #isClosed = false;

  /**
   * @param client the client of the cluster
   * @param keysOf returns the keys of a resource
   */
  constructor(client: EtcdClient, keysOf: (resource: string) => Keys) {
    this.#client = client;
    this.#keysOf = keysOf;
  }

  /** Calls `onReleased` with a resource whenever a claim on it is deleted. Resolves once the server watches them all. */
  async watch(resources: readonly string[], onReleased: (resource: string) => void): Promise<Unwatch> {
    if (this.#isClosed) throw new Error("the node is closed");
    const own = resources.map((resource) => this.#watches.get(resource) ?? this.#start(resource));
    // A new function for each call, in case the same `onReleased` watches twice.
    const listener = (resource: string): void => onReleased(resource);
    for (const watch of own) watch.listeners.add(listener);
    const unwatch = async (): Promise<void> => {
      for (const watch of own) {
        watch.listeners.delete(listener);
        if (watch.listeners.size === 0) this.#remove(watch);
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
  }

  /** Ends all watches, and refuses others. */
  close(): void {
    this.#isClosed = true;
    for (const { started } of this.#watches.values()) started.reject(new Error("the node is closed"));
    this.#watches.clear();
    this.#watchesById.clear();
    this.#closeStream();
  }

  #start(resource: string): Watch {
    this.#lastId += 1;
    const [id, keys] = [this.#lastId, this.#keysOf(resource)];
    const watch: Watch = {
      id,
      resource,
      keys,
      listeners: new Set(),
      startRevision: 0,
      started: promiseWithResolvers(),
    };
    this.#watches.set(resource, watch);
    this.#watchesById.set(id, watch);
    if (this.#stream !== undefined) this.#create(watch);
    else if (this.#watches.size === 1) this.#open();
    return watch;
  }

  #create({ id, keys, startRevision }: Watch): void {
    const range = { key: keys.claim, rangeEnd: keys.end };
    this.#stream?.write({ createRequest: { ...range, startRevision, filters: ["NOPUT"], watchId: id } });
  }

  #remove(watch: Watch): void {
    if (this.#watches.get(watch.resource) !== watch) return;
    this.#watches.delete(watch.resource);
    this.#watchesById.delete(watch.id);
    if (this.#watches.size === 0) this.#closeStream();
    else this.#stream?.write({ cancelRequest: { watchId: watch.id } });
  }

  #open(): void {
    const opening = this.#client.openWatch(performance.now() + startTimeoutMs);
    void opening.then(
      (opened) => {
        opened.on("error", (error: ServiceError) => this.#onEnd(opened, failureOf(error, "a member")));
        opened.on("end", () => this.#onEnd(opened, new Error("etcd ended the stream of watches")));
        if (this.#watches.size === 0 || this.#stream !== undefined) {
          opened.cancel();
          return;
        }
        this.#stream = opened;
        opened.on("data", (response: WatchResponse) => this.#onResponse(response));
        for (const watch of this.#watches.values()) this.#create(watch);
      },
      (error: Error) => this.#onEnd(undefined, error),
    );
  }

  #closeStream(): void {
    clearTimeout(this.#retry);
    const closing = this.#stream;
    this.#stream = undefined;
    closing?.cancel();
  }

  #onResponse(response: WatchResponse): void {
    this.#delayMs = backOffMs.first;
    const watch = this.#watchesById.get(response.watchId);
    if (watch === undefined) return;
    if (response.canceled) {
      this.#onCanceled(watch, response);
      return;
    }
    watch.startRevision = response.header.revision + 1;
    if (response.created) watch.started.resolve();
    for (const { type } of response.events) {
      if (type !== "DELETE") continue;
      for (const listener of watch.listeners) queueMicrotask(() => listener(watch.resource));
    }
  }

  #onCanceled(watch: Watch, { compactRevision, cancelReason }: WatchResponse): void {
    if (compactRevision !== 0) {
      watch.startRevision = compactRevision;
      this.#create(watch);
      return;
    }
    watch.started.reject(new Error(`etcd ended the watch: ${cancelReason || "without a reason"}`));
    this.#remove(watch);
  }

  /** A watch that has started once is started again; the caller of another one decides whether to try again. */
  #onEnd(ended: WatchStream | undefined, error: Error): void {
    if (this.#stream !== ended) return;
    this.#stream = undefined;
    for (const watch of [...this.#watches.values()]) {
      if (watch.startRevision !== 0) continue;
      watch.started.reject(error);
      this.#remove(watch);
    }
    if (this.#watches.size === 0) return;
    this.#retry = setTimeout(() => this.#open(), this.#delayMs * (0.5 + Math.random() / 2)).unref();
    this.#delayMs = Math.min(2 * this.#delayMs, backOffMs.max);
  }
}

function promiseWithResolvers(): PromiseWithResolvers {
  let settle: Omit<PromiseWithResolvers, "promise"> | undefined;
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  promise.catch(() => {}); // a watch may have no listener any more
  return { promise, ...(settle as Omit<PromiseWithResolvers, "promise">) };
}
