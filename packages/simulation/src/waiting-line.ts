import type { ClientProcess } from "./client-process.ts";
import type { WaitRecord } from "./history.ts";

/** What a call says of how it waits. */
export interface Patience {
  readonly resources: readonly string[];
  /** How long it waits at the most, in milliseconds: until its time is up, or its caller gives up. */
  readonly patienceMs: number;
}

/** How long core may take, in milliseconds. */
export interface WaitLimits {
  /** The longest attempt. */
  readonly attemptMs: number;
  /** The longest delay between attempts. */
  readonly backOffMs: number;
}

/** Timers ring late, by less than one millisecond each. */
const lateTimersMs = 2;

/** A call that waits, or has waited. */
export class Wait implements WaitRecord {
  readonly client: string;
  readonly resources: readonly string[];
  readonly patienceMs: number;
  readonly mayWaitMs: number;
  readonly mayIdleMs: number;
  readonly calledAtMs: number;
  endedAtMs: number | undefined;
  attempt: string | undefined;
  waitedMs = 0;
  idleMs = 0;
  readonly #process: ClientProcess;
  readonly #calledAtAwakeMs: number;

  constructor(process: ClientProcess, { resources, patienceMs }: Patience, limits: WaitLimits) {
    this.#process = process;
    this.client = process.name;
    this.resources = resources.toSorted();
    this.patienceMs = patienceMs;
    this.mayWaitMs = patienceMs + limits.attemptMs + lateTimersMs;
    this.mayIdleMs = limits.backOffMs + lateTimersMs;
    this.calledAtMs = process.nowMs;
    this.#calledAtAwakeMs = process.awakeMs;
  }

  /** It has got its lock, by that attempt, or its error. */
  end(attempt: string | undefined): void {
    this.endedAtMs = this.#process.nowMs;
    this.waitedMs = this.#process.awakeMs - this.#calledAtAwakeMs;
    this.attempt = attempt;
  }
}

/**
 * The calls of one process that wait for locks, as somebody sees them who stands beside it. Of all of them, the oldest
 * is the one whose turn it certainly is: nobody of this process is before it.
 */
export class WaitingLine {
  readonly #process: ClientProcess;
  readonly #limits: WaitLimits;
  readonly #records: Wait[];
  readonly #waiting = new Set<Wait>();
  readonly #holding = new Set<Wait>();
  /** What attempts that are under way try to lock, by their owners. */
  readonly #tried = new Map<string, readonly string[]>();
  #idle: { readonly wait: Wait; readonly sinceMs: number } | undefined;

  /**
   * @param process whose calls these are
   * @param limits how long its core may take
   * @param records gets all calls, in their order
   */
  constructor(process: ClientProcess, limits: WaitLimits, records: Wait[]) {
    this.#process = process;
    this.#limits = limits;
    this.#records = records;
  }

  /** A call begins to wait. */
  enter(patience: Patience): Wait {
    const wait = new Wait(this.#process, patience, this.#limits);
    this.#records.push(wait);
    this.#waiting.add(wait);
    this.#look();
    return wait;
  }

  /** A call gets its lock. As long as it has that, others of this process may wait for its end instead of trying. */
  succeed(wait: Wait, attempt: string): void {
    this.#waiting.delete(wait);
    this.#holding.add(wait);
    this.#look();
    wait.end(attempt);
  }

  /** A call gets its error, or has released its lock. */
  leave(wait: Wait): void {
    const hasLock = this.#holding.delete(wait);
    this.#waiting.delete(wait);
    this.#look();
    if (!hasLock) wait.end(undefined);
  }

  /** An attempt begins. */
  tries(owner: string, resources: readonly string[]): void {
    this.#tried.set(owner, resources);
    this.#look();
  }

  /** An attempt has come to something, or to nothing. */
  settles(owner: string): void {
    this.#tried.delete(owner);
    this.#look();
  }

  /** Measures for how long nothing is tried for the oldest call, though nothing of its own process is in its way. */
  #look(): void {
    const [oldest] = this.#waiting;
    const isIdle = oldest !== undefined && !this.#isTried(oldest) && !this.#isBlocked(oldest);
    if (isIdle && this.#idle?.wait === oldest) return;
    const { awakeMs } = this.#process;
    if (this.#idle !== undefined) {
      const { wait, sinceMs } = this.#idle;
      wait.idleMs = Math.max(wait.idleMs, awakeMs - sinceMs);
    }
    this.#idle = isIdle ? { wait: oldest, sinceMs: awakeMs } : undefined;
  }

  #isTried({ resources }: Wait): boolean {
    return [...this.#tried.values()].some((tried) => tried.join() === resources.join());
  }

  #isBlocked({ resources }: Wait): boolean {
    return [...this.#holding].some((held) => held.resources.some((resource) => resources.includes(resource)));
  }
}
