import { defaultNodeTimeoutMs, type Lock, type LockOptions, type Redlock } from "@holdfast/core";
import type { Call } from "./arguments.ts";
import { takeOver } from "./take-over.ts";
import type { GrantedLock, LockMode } from "./types.ts";

/** How long to wait for a request that the nodes neither grant nor refuse, in milliseconds. */
const timeoutMs = defaultNodeTimeoutMs(10_000);

/** A call of `request()`. */
interface Request extends Call {
  /** `held` since it got the lock, also after it has released that; `over` if it got none, or if its lock was lost. */
  state: "pending" | "held" | "over";
  /** Aborts the signal that the callback gets. */
  readonly lost: AbortController;
  /** Calls the callback, in the asynchronous context of this call, whichever request has acquired the lock. */
  grant(lock: GrantedLock | null): void;
  /** Settles as the callback does. */
  readonly called: Promise<unknown>;
  /** Settle the promise of `request()`. */
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** Requests that wait for one lock: a single one, or shared ones in a row. */
interface Group {
  readonly mode: LockMode;
  /** Each with a function that stops listening to its signal. */
  readonly requests: Map<Request, () => void>;
  /** Ends the call of `acquire`; undefined before that call. */
  attempt: AbortController | undefined;
  /** Resolves when that call has settled. */
  settled: Promise<void>;
}

/**
 * What one lock manager holds and requests of one name.
 *
 * Requests wait in `Redlock.acquire`, which serves those of one process first come, first served, as the specification
 * requires. Shared ones in a row make one call, and share its lock. The line here exists for `query()`, and because a
 * request with `steal` passes the others: they leave `acquire`, and call it again in the same order once the lock is
 * stolen. Requests that arrive while one with `ifAvailable` or `steal` asks the nodes start after it, unless both are
 * shared.
 *
 * By the specification, a request gets the lock or waits from the moment it is made. Here the nodes decide that a round
 * trip later, so `steal` and `query()` wait until all earlier requests are decided.
 */
export class NamedLocks {
  readonly #redlock: Redlock;
  readonly #resource: string;
  readonly #options: LockOptions;
  readonly #onChange: () => void;
  /** The requests that wait, in order. */
  readonly #line: Group[] = [];
  readonly #held = new Map<Request, Lock>();
  /** The releases in progress. They never reject. */
  readonly #releases = new Set<Promise<void>>();
  /** The requests with `ifAvailable` or `steal` that are not decided. */
  readonly #deciding = new Set<Request>();
  /** Called when a request is decided or gives up. */
  readonly #watchers = new Set<() => void>();

  /**
   * @param redlock acquires the locks
   * @param resource what it locks
   * @param options how; the label identifies the lock manager
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
    return [this.#line.length, this.#held.size, this.#deciding.size, this.#releases.size].every((count) => !count);
  }

  /** Returns the modes of the locks that are held, and of the requests that wait, once all made so far are decided. */
  async snapshot(): Promise<Record<"held" | "pending", readonly LockMode[]>> {
    const waiting = this.#line.flatMap(({ requests }) => [...requests.keys()]);
    const requests = [...this.#held.keys(), ...this.#deciding, ...waiting];
    await this.#decided();
    const modesOf = (wanted: Request["state"]) =>
      requests.filter(({ state }) => state === wanted).map(({ mode }) => mode);
    return { held: modesOf("held"), pending: modesOf("pending") };
  }

  /** Settles as `request()` does. */
  request(call: Call): Promise<unknown> {
    const result = new Promise((resolve, reject) => {
      let grant: Request["grant"] = () => {};
      const granted = new Promise<GrantedLock | null>((resolveGranted) => {
        grant = resolveGranted;
      });
      const called = granted.then(call.callback);
      const lost = new AbortController();
      const request: Request = { ...call, state: "pending", lost, grant, called, resolve, reject };
      if (call.steal) this.#steal(request);
      else if (call.ifAvailable) this.#requestNow(request);
      else this.#wait(request);
    });
    return result.finally(this.#onChange);
  }

  #wait(request: Request): void {
    const { mode, signal } = request;
    let group = this.#line.at(-1);
    if (group === undefined || !canShare(group, request) || (group.attempt !== undefined && !this.#mayStart(request))) {
      group = { mode, requests: new Map(), attempt: undefined, settled: Promise.resolve() };
      this.#line.push(group);
    }
    const { requests } = group;
    const giveUp = () => {
      requests.delete(request);
      if (requests.size === 0) {
        this.#leave(group);
        group.attempt?.abort();
      }
      this.#fail(request, signal?.reason);
    };
    signal?.addEventListener("abort", giveUp, { once: true });
    requests.set(request, () => signal?.removeEventListener("abort", giveUp));
    this.#startAll();
  }

  /** Starts the groups that have not started, in order, up to one that must wait until another request is decided. */
  #startAll(): void {
    const lastStarted = this.#line.findLastIndex(({ attempt }) => attempt !== undefined);
    for (const group of this.#line.slice(lastStarted + 1)) {
      if (!this.#mayStart(group)) return;
      this.#start(group);
    }
  }

  #mayStart(wanted: Pick<Group, "mode">): boolean {
    return [...this.#deciding].every((request) => canShare(request, wanted));
  }

  #start(group: Group): void {
    const attempt = new AbortController();
    const { signal } = attempt;
    group.attempt = attempt;
    const options: LockOptions = { ...this.#options, mode: group.mode, waitTimeoutMs: Infinity, signal };
    group.settled = this.#redlock.acquire(this.#resource, options).then(
      (lock) => (signal.aborted ? this.#release(lock) : this.#hold(this.#leave(group), lock)),
      (error) => {
        if (!signal.aborted) for (const request of this.#leave(group)) this.#fail(request, error);
      },
    );
  }

  /** Takes a group out of the line, and returns its requests. */
  #leave(group: Group): Request[] {
    this.#line.splice(this.#line.indexOf(group), 1);
    for (const stopListening of group.requests.values()) stopListening();
    return [...group.requests.keys()];
  }

  #requestNow(request: Request): void {
    const rivals = [...this.#held.keys(), ...this.#line, ...this.#deciding];
    if (rivals.every((rival) => canShare(rival, request))) {
      void this.#decide(request, async () => {
        await Promise.all(this.#releases);
        return this.#redlock.tryAcquire(this.#resource, { ...this.#options, mode: request.mode });
      });
    } else this.#refuse(request);
  }

  #steal(request: Request): void {
    const earlier = this.#decided();
    void this.#decide(request, async () => {
      await earlier; // they may have the lock then
      return this.#takeOver();
    });
  }

  /** Acquires a lock before all requests that wait, and calls the callback. */
  async #decide(request: Request, acquire: () => Promise<Lock | null>): Promise<void> {
    this.#deciding.add(request);
    try {
      const lock = await acquire();
      this.#deciding.delete(request);
      if (lock === null) this.#refuse(request);
      else this.#hold([request], lock);
    } catch (error) {
      this.#deciding.delete(request);
      this.#fail(request, error);
    }
    this.#startAll();
  }

  /**
   * Resolves when all requests made so far are decided: they have the lock, or they wait. Those that could be next wait if
   * the nodes name another client as the holder, or have neither granted nor refused the lock after {@link timeoutMs}.
   */
  #decided(): Promise<void> {
    const deciding = [...this.#deciding];
    let next = this.#firstInLine();
    const isBlocked = (group: Group) => ![...this.#held.keys()].every((held) => canShare(held, group));
    const isUndecided = () =>
      deciding.some((request) => this.#deciding.has(request)) ||
      next.some((group) => this.#line.includes(group) && !isBlocked(group));
    if (!isUndecided()) return Promise.resolve();
    return new Promise((resolve) => {
      let cancelTimer = () => {};
      const watch = () => {
        if (isUndecided()) return;
        this.#watchers.delete(watch);
        cancelTimer();
        resolve();
      };
      const stopWaiting = () => {
        next = [];
        watch();
      };
      this.#watchers.add(watch);
      if (next[0] === undefined) return;
      const { clock } = this.#redlock;
      const onTimeout = () => clock.afterPendingIo(stopWaiting); // the grant may be waiting to be read
      this.#hasRival(next[0]).then((hasRival) => {
        if (hasRival) stopWaiting();
        else if (this.#watchers.has(watch)) cancelTimer = clock.startTimer(timeoutMs, onTimeout);
      }, stopWaiting);
    });
  }

  /** Returns the groups that can get the lock next: one, or shared ones in a row. */
  #firstInLine(): Group[] {
    const [first] = this.#line;
    const end = this.#line.findIndex((group, index) => index > 0 && !canShare(group, first as Group));
    return this.#line.slice(0, end < 0 ? undefined : end);
  }

  /** Whether the nodes name another client whose lock excludes this one. */
  async #hasRival(wanted: Group): Promise<boolean> {
    const { mode, holders } = await this.#redlock.inspect(this.#resource);
    const isOurs = ({ label }: (typeof holders)[number]) => label === this.#options.label;
    return mode !== null && !canShare({ mode }, wanted) && !holders.every(isOurs);
  }

  /** Acquires the lock by releasing its holders, here and elsewhere. */
  async #takeOver(): Promise<Lock> {
    const stolen = new Set(this.#held.values());
    for (const request of [...this.#held.keys()]) this.#lose(request, abortError("the lock was stolen"));
    for (const group of this.#line) {
      group.attempt?.abort();
      group.attempt = undefined;
    }
    try {
      await Promise.all(this.#line.map(({ settled }) => settled));
      return await takeOver(this.#redlock, this.#resource, this.#options);
    } finally {
      // Not before: a release notifies the clients that wait.
      for (const lock of stolen) void this.#release(lock);
    }
  }

  /** Calls the callbacks, and keeps the lock until the promises of all of them settle. */
  #hold(requests: readonly Request[], lock: Lock): void {
    const holders = new Set(requests);
    for (const request of requests) {
      const { name, mode, lost, called } = request;
      request.state = "held";
      this.#held.set(request, lock);
      request.grant(Object.freeze({ name, mode, fence: lock.fence, signal: lost.signal }));
      const end = () => {
        holders.delete(request);
        if (!this.#held.delete(request)) return; // it was stolen or lost
        if (holders.size > 0) request.resolve(called);
        else void this.#release(lock).then(() => request.resolve(called));
      };
      called.then(end, end);
    }
    this.#changed();
    const { signal } = lock;
    const onLoss = () => {
      for (const request of holders) this.#lose(request, abortError("the lock was lost", signal.reason));
    };
    if (signal.aborted) onLoss();
    else signal.addEventListener("abort", onLoss);
  }

  #lose(request: Request, error: DOMException): void {
    this.#held.delete(request);
    this.#fail(request, error);
    request.lost.abort(error);
  }

  #refuse(request: Request): void {
    request.state = "over";
    this.#changed();
    request.grant(null);
    request.resolve(request.called);
  }

  #fail(request: Request, error: unknown): void {
    request.state = "over";
    this.#changed();
    request.reject(error);
  }

  #changed(): void {
    for (const watcher of this.#watchers) watcher();
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
