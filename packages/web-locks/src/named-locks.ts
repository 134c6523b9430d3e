import type { Lock, LockOptions, Redlock } from "@holdfast/core";
import type { Call } from "./arguments.ts";
import { takeOver } from "./take-over.ts";
import type { LockMode } from "./types.ts";

/** A lock that a callback holds. */
interface Held {
  readonly mode: LockMode;
  readonly lock: Lock;
  /** Rejects the request, and aborts the signal that the callback got. */
  lose(error: DOMException): void;
}

/** A request that waits. */
interface Waiting {
  readonly mode: LockMode;
  /** Calls the callback. */
  grant(lock: Lock): void;
  /** Rejects the request. */
  fail(error: unknown): void;
  /** Ends the call of `acquire`; undefined before that call. */
  attempt: AbortController | undefined;
  /** Resolves when that call has settled. */
  settled: Promise<void>;
}

/**
 * What one lock manager holds and requests of one name.
 *
 * Requests wait in `Redlock.acquire`, which serves those of one process first come, first served, as the specification
 * requires. The list here exists for `query()`, and because a request with `steal` passes the others: they leave
 * `acquire`, and call it again in the same order once the lock is stolen. Requests that arrive while one with
 * `ifAvailable` or `steal` asks the nodes start after it, unless both are shared.
 */
export class NamedLocks {
  readonly #redlock: Redlock;
  readonly #resource: string;
  readonly #options: LockOptions;
  readonly #onChange: () => void;
  readonly #waiting: Waiting[] = [];
  readonly #held = new Set<Held>();
  /** The releases in progress. They never reject. */
  readonly #releases = new Set<Promise<void>>();
  /** The requests with `ifAvailable` or `steal` that ask the nodes, each with a promise that resolves afterwards. */
  readonly #deciding = new Map<Call, Promise<unknown>>();

  /**
   * @param redlock acquires the locks
   * @param resource what it locks
   * @param options how
   * @param onChange called when a lock or a request has ended
   */
  constructor(redlock: Redlock, resource: string, options: LockOptions, onChange: () => void) {
    this.#redlock = redlock;
    this.#resource = resource;
    this.#options = options;
    this.#onChange = onChange;
  }

  /** Whether nothing is held, requested or being released. */
  get isUnused(): boolean {
    return [this.#waiting.length, this.#held.size, this.#deciding.size, this.#releases.size].every((count) => !count);
  }

  /** The modes of the locks that are held. */
  get held(): readonly LockMode[] {
    return [...this.#held].map(({ mode }) => mode);
  }

  /** The modes of the requests that wait, in order. */
  get pending(): readonly LockMode[] {
    const steals = [...this.#deciding.keys()].filter(({ steal }) => steal);
    return [...steals, ...this.#waiting].map(({ mode }) => mode);
  }

  /** Settles as `request()` does. */
  async request(call: Call): Promise<unknown> {
    try {
      if (call.steal) return await this.#steal(call);
      return await (call.ifAvailable ? this.#requestNow(call) : this.#wait(call));
    } finally {
      this.#onChange();
    }
  }

  #wait(call: Call): Promise<unknown> {
    const { mode, signal } = call;
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal?.removeEventListener("abort", giveUp);
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      };
      const fail = (error: unknown) => {
        leave();
        reject(error);
      };
      const giveUp = () => {
        waiting.attempt?.abort();
        fail(signal?.reason);
      };
      const grant = (lock: Lock) => {
        leave();
        resolve(this.#hold(call, lock));
      };
      const waiting: Waiting = { mode, grant, fail, attempt: undefined, settled: Promise.resolve() };
      signal?.addEventListener("abort", giveUp);
      this.#waiting.push(waiting);
      this.#startAll();
    });
  }

  /** Starts the requests that have not started, in order, up to one that must wait until another is decided. */
  #startAll(): void {
    const deciding = [...this.#deciding.keys()];
    const lastStarted = this.#waiting.findLastIndex(({ attempt }) => attempt !== undefined);
    for (const waiting of this.#waiting.slice(lastStarted + 1)) {
      if (!deciding.every((call) => canShare(call, waiting))) return;
      this.#start(waiting);
    }
  }

  #start(waiting: Waiting): void {
    waiting.attempt = new AbortController();
    const { signal } = waiting.attempt;
    const options: LockOptions = { ...this.#options, mode: waiting.mode, waitTimeoutMs: Infinity, signal };
    waiting.settled = this.#redlock.acquire(this.#resource, options).then(
      (lock) => (signal.aborted ? this.#release(lock) : waiting.grant(lock)),
      (error) => {
        if (!signal.aborted) waiting.fail(error);
      },
    );
  }

  async #requestNow(call: Call): Promise<unknown> {
    const rivals = [...this.#held, ...this.#waiting, ...this.#deciding.keys()];
    const mayBeFree = rivals.every((rival) => canShare(rival, call));
    if (!mayBeFree) {
      await Promise.resolve(); // the callback never runs before request() returns
      return call.callback(null);
    }
    const decision = this.#decide(call, async () => {
      await Promise.all(this.#releases);
      return this.#redlock.tryAcquire(this.#resource, { ...this.#options, mode: call.mode });
    });
    return (await decision).result;
  }

  async #steal(call: Call): Promise<unknown> {
    const earlier = [...this.#deciding.values()];
    const decision = this.#decide(call, async () => {
      await Promise.all(earlier); // which may hold the lock then
      return this.#takeOver();
    });
    return (await decision).result;
  }

  /**
   * Acquires a lock before all requests that wait, and calls the callback.
   *
   * @returns the promise of the callback's result, in an object, so that it is not awaited
   */
  #decide(call: Call, acquire: () => Promise<Lock | null>): Promise<{ readonly result: unknown }> {
    const decide = async () => {
      try {
        const lock = await acquire();
        return { result: lock === null ? call.callback(null) : this.#hold(call, lock) };
      } finally {
        this.#deciding.delete(call);
        this.#startAll();
      }
    };
    const decision = decide();
    this.#deciding.set(
      call,
      decision.catch(() => {}),
    );
    return decision;
  }

  /** Acquires the lock by releasing its holders, here and elsewhere. */
  async #takeOver(): Promise<Lock> {
    const stolen = [...this.#held];
    for (const held of stolen) held.lose(abortError("the lock was stolen"));
    for (const waiting of this.#waiting) {
      waiting.attempt?.abort();
      waiting.attempt = undefined;
    }
    try {
      await Promise.all(this.#waiting.map(({ settled }) => settled));
      return await takeOver(this.#redlock, this.#resource, this.#options);
    } finally {
      // Not before: a release notifies the clients that wait.
      for (const { lock } of stolen) void this.#release(lock);
    }
  }

  /** Calls the callback, and keeps the lock until its promise settles. */
  #hold({ name, mode, callback }: Call, lock: Lock): Promise<unknown> {
    const controller = new AbortController();
    return new Promise((resolve, reject) => {
      const lose = (error: DOMException) => {
        this.#held.delete(held);
        reject(error);
        controller.abort(error);
      };
      const held: Held = { mode, lock, lose };
      this.#held.add(held);
      const granted = Object.freeze({ name, mode, fence: lock.fence, signal: controller.signal });
      const result = new Promise((settle) => settle(callback(granted)));
      const end = () => {
        const isHeld = this.#held.delete(held); // unless it was stolen or lost
        if (isHeld) void this.#release(lock).then(() => resolve(result));
      };
      result.then(end, end);
      const { signal } = lock;
      const onLoss = () => lose(abortError("the lock was lost", signal.reason));
      if (signal.aborted) onLoss();
      else signal.addEventListener("abort", onLoss);
    });
  }

  #release(lock: Lock): Promise<void> {
    const release = lock
      .release()
      .catch(() => {}) // on nodes that do not reply, the lock ends with its ttl
      .then(() => {
        this.#releases.delete(release);
        this.#onChange();
      });
    this.#releases.add(release);
    return release;
  }
}

/** Whether two locks can be held at once. */
function canShare(one: { readonly mode: LockMode }, other: { readonly mode: LockMode }): boolean {
  return one.mode === "shared" && other.mode === "shared";
}

function abortError(message: string, cause?: unknown): DOMException {
  const error = new DOMException(message, "AbortError");
  // Browsers take no cause in the constructor.
  if (cause !== undefined) Object.defineProperty(error, "cause", { value: cause, configurable: true });
  return error;
}
