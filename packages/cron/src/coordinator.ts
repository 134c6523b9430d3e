import { type Lock, type LockOptions, QuorumUnreachableError, type Redlock, WaitTimeoutError } from "@holdfast/core";
import { assertOptions, checkInteger, checkMethods, checkType, timerMaxMs } from "@holdfast/core/node";

/** The options of {@link cronCoordinator}. */
export interface CronOptions {
  /** Precedes the names of jobs on the lock servers. Default `cron:`. */
  readonly prefix?: string | undefined;
  /**
   * How long a moment stays taken, in milliseconds, however short its run is. The clocks of the processes may be apart by half
   * of it, and a process that starts a moment later than that leaves it out. Default 7 200 000, two hours. A `driftFactor` of
   * the `Redlock` above 0.04 shortens it.
   */
  readonly holdMs?: number | undefined;
  /**
   * How long to ask again while too few servers reply, in milliseconds. Default 5 000. Less than the time between two moments.
   */
  readonly waitTimeoutMs?: number | undefined;
  /** Called when a moment was not run, or perhaps not. Errors that it throws or rejects with are ignored. */
  readonly missed?: ((event: MissedEvent) => unknown) | undefined;
  /** Called when a moment was left out as the previous run of the job goes on. Errors are ignored likewise. */
  readonly overlapped?: ((event: OverlappedEvent) => unknown) | undefined;
}

/** A moment that was left out because the previous run of the job goes on, here or in another process. */
export interface OverlappedEvent {
  /** The name of the job. */
  readonly job: string;
  /** The scheduled moment. */
  readonly moment: Date;
}

/** A moment that this process did not run, and that perhaps nobody has run. */
export interface MissedEvent extends OverlappedEvent {
  /**
   * - `unreachable`: this process could not ask the servers; another one may have run the moment.
   * - `nobody`: this process could not ask then, and knows by now that no process has taken the moment.
   * - `late`: this process came so late that the moment may no longer be taken, although it was run.
   */
  readonly reason: "unreachable" | "nobody" | "late";
  /** Why this process could not ask. */
  readonly error?: unknown;
}

/** Decides which process runs a scheduled moment. The first two methods are the run coordinator of node-cron. */
export interface CronCoordinator {
  /**
   * Returns whether this process runs a moment. If so, the job counts as running until {@link CronCoordinator.onComplete}, or
   * until this process dies.
   *
   * @param key the name of the job, a colon, and the moment in ISO 8601, as node-cron passes it
   * @param ttlMs how long a job counts as running after its process has died, in milliseconds
   * @throws {QuorumUnreachableError} when too few servers reply
   * @throws {TypeError} for a key without a moment
   * @throws any other error of `Redlock.tryAcquire`
   */
  shouldRun(key: string, ttlMs: number): Promise<boolean>;
  /**
   * Ends the run of a moment. Does nothing if this process does not run it. Never rejects.
   *
   * @param key the key that `shouldRun` got
   */
  onComplete(key: string): Promise<void>;
  /**
   * Runs a routine if no process has taken this moment of the job, for other schedulers than node-cron. The routine gets the
   * lock of the run, which is extended until it ends: it should stop when `lock.signal` aborts, and show `lock.fence` to the
   * storage.
   *
   * @param job the name of the job, the same in all processes
   * @param moment the scheduled moment, see {@link momentOf}
   * @param routine does the work
   * @returns whether this process has run the moment
   * @throws {QuorumUnreachableError} when too few servers reply
   * @throws {LockLostError} when the routine succeeded, but its lock was lost before it ended
   * @throws the error of the routine, or any other error of `Redlock.tryAcquire`
   *
   * @example
   * ```ts
   * import { cronCoordinator } from "@holdfast/cron";
   *
   * const noon = new Date(new Date().setUTCMinutes(0, 0, 0));
   * const jobs = cronCoordinator(redlock);
   * console.log(await jobs.run("report", noon, (lock) => console.log(`runs with fence ${lock.fence}`))); // true
   * console.log(await jobs.run("report", noon, () => {})); // false
   * ```
   */
  run(job: string, moment: Date, routine: (lock: Lock) => unknown): Promise<boolean>;
}

/** How much longer the nodes keep a moment than this process, which then releases it before it counts as lost. */
const spareFactor = 1.05;

/**
 * Returns a coordinator for jobs that are scheduled in several processes: of all of them, one runs each moment. A moment is
 * taken before its run, so it is run at most once: if the process dies meanwhile, nobody runs it again.
 *
 * The coordinator locks each moment by its name for `holdMs`, which a process keeps in memory that long, and each job while it
 * runs. Taking a moment costs one or two round trips.
 *
 * @param redlock the lock servers; `close()` it when the last job has ended
 * @param options see {@link CronOptions}
 * @throws {TypeError | RangeError} naming the bad argument
 *
 * @example
 * ```ts
 * import { cronCoordinator } from "@holdfast/cron";
 * import { schedule } from "node-cron";
 *
 * const runCoordinator = cronCoordinator(redlock, { missed: ({ job, moment, reason }) => console.error(job, moment, reason) });
 * const options = { name: "report", distributed: true, runCoordinator, timezone: "Etc/UTC" };
 * const task = schedule("0 * * * *", () => console.log("in one process of all"), options);
 * await task.destroy();
 * ```
 */
export function cronCoordinator(redlock: Redlock, options: CronOptions = {}): CronCoordinator {
  checkMethods("redlock", ["acquire", "tryAcquire", "inspect"], redlock);
  const { prefix, holdMs, waitTimeoutMs, missed, overlapped } = parseOptions(options);
  const { clock } = redlock;
  const runs = new Map<string, Lock>();
  /** The last moment of each job for which this process could not ask. */
  const unasked = new Map<string, Date>();

  const isTooLate = (moment: Date) => clock.wallMs() - moment.getTime() > holdMs / 2;

  /** Returns the lock of the run, or null if this process shall not run the moment. */
  async function begin(job: string, moment: Date, ttlMs?: number): Promise<Lock | null> {
    const late = () => {
      void tell(missed, { job, moment, reason: "late" });
      return null;
    };
    if (isTooLate(moment)) return late();
    try {
      await reportUnasked(job);
      const ofMoment = { ttlMs: Math.ceil(holdMs * spareFactor), maxHoldMs: Infinity, autoExtend: false };
      const taken = await take(keyOf(job, moment), ofMoment);
      if (taken === null) return null;
      if (isTooLate(moment)) return taken.release().then(late, late); // another process may have held it before
      const run = await beginRun(job, taken, ttlMs);
      if (run === null) void tell(overlapped, { job, moment });
      return run;
    } catch (error) {
      unasked.set(job, moment);
      void tell(missed, { job, moment, reason: "unreachable", error });
      throw error;
    }
  }

  /** Keeps the moment taken, unless the servers do not say whether the job may run. */
  async function beginRun(job: string, taken: Lock, ttlMs: number | undefined): Promise<Lock | null> {
    const giveBack = () => taken.release().catch(() => {});
    const cancel = clock.startTimer(holdMs, giveBack, { background: true });
    try {
      return await take(`${job}:running`, { ttlMs, autoExtend: true });
    } catch (error) {
      cancel();
      await giveBack();
      throw error;
    }
  }

  /** Acquires a lock, or returns null if somebody else has it. */
  async function take(name: string, terms: LockOptions): Promise<Lock | null> {
    const resource = prefix + name;
    const lockOptions = { ...terms, mode: "exclusive", waitTimeoutMs } as const;
    try {
      const lock = await redlock.tryAcquire(resource, lockOptions);
      if (lock !== null || (await redlock.inspect(resource)).state === "held") return lock;
    } catch (error) {
      if (!(error instanceof QuorumUnreachableError)) throw error;
    }
    // Processes have split the votes of the servers, so that nobody has the lock, or too few servers replied.
    return redlock.acquire(resource, lockOptions).catch((error: unknown) => {
      if (error instanceof WaitTimeoutError) return null;
      throw error;
    });
  }

  /** Finds out whether anybody has taken the moment for which this process could not ask. */
  async function reportUnasked(job: string): Promise<void> {
    const moment = unasked.get(job);
    if (moment === undefined) return;
    const { state } = await redlock.inspect(prefix + keyOf(job, moment));
    if (state === "unknown") return;
    unasked.delete(job);
    if (state === "free" && !isTooLate(moment)) void tell(missed, { job, moment, reason: "nobody" });
  }

  return {
    async shouldRun(key, ttlMs) {
      const [job, moment] = parseKey(key);
      const run = await begin(job, moment, ttlMs);
      if (run !== null) runs.set(key, run);
      return run !== null;
    },
    async onComplete(key) {
      const run = runs.get(key);
      runs.delete(key);
      await run?.[Symbol.asyncDispose]();
    },
    async run(job, moment, routine) {
      checkType("job", "string", job);
      checkType("routine", "function", routine);
      if (!(moment instanceof Date) || Number.isNaN(moment.getTime()))
        throw new TypeError("moment must be a valid Date");
      const lock = await begin(job, moment);
      if (lock === null) return false;
      try {
        await routine(lock);
        lock.signal.throwIfAborted();
        return true;
      } finally {
        await lock[Symbol.asyncDispose]();
      }
    },
  };
}

function parseOptions(options: CronOptions) {
  assertOptions(options, ["prefix", "holdMs", "waitTimeoutMs", "missed", "overlapped"], "cronCoordinator");
  const { prefix = "cron:", holdMs = 7_200_000, waitTimeoutMs = 5_000, missed, overlapped } = options;
  checkType("prefix", "string", prefix);
  checkInteger("holdMs", holdMs);
  if (holdMs > timerMaxMs) throw new RangeError(`holdMs must be at most ${timerMaxMs}, not ${holdMs}`);
  checkInteger("waitTimeoutMs", waitTimeoutMs);
  if (missed !== undefined) checkType("missed", "function", missed);
  if (overlapped !== undefined) checkType("overlapped", "function", overlapped);
  return { prefix, holdMs, waitTimeoutMs, missed, overlapped };
}

function parseKey(key: string): [job: string, moment: Date] {
  const [, job, iso] = /^(.+):(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/s.exec(key) ?? [];
  if (job === undefined || iso === undefined) throw new TypeError("key must end in a colon and a moment in ISO 8601");
  return [job, new Date(iso)];
}

function keyOf(job: string, moment: Date): string {
  return `${job}:${moment.toISOString()}`;
}

/** Calls a callback, and ignores its errors. */
async function tell<Event>(callback: ((event: Event) => unknown) | undefined, event: Event): Promise<void> {
  try {
    await callback?.(event);
  } catch {
    // A failing callback must not fail the job.
  }
}
