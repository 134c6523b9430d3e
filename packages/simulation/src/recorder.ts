import type { AcquireRequest, Lock } from "@holdfast/core";
import type { ClientProcess } from "./client-process.ts";
import { describeFault } from "./describe-fault.ts";
import type { Fault } from "./fault.ts";
import type { History, Incident, LockRecord, LostUpdate, Recovery } from "./history.ts";
import type { Tell } from "./timeline.ts";
import { type Wait, WaitingLine, type WaitLimits } from "./waiting-line.ts";

/** How a client tells whether it still holds its lock. */
export type Trust = "remaining time" | "signal";

/** A lock that a client was given. */
export class HeldRecord implements LockRecord {
  readonly attempt: string;
  readonly client: string;
  readonly resources: readonly string[];
  readonly fence: number;
  readonly takenOverFrom: string | undefined;
  readonly startedAtMs: number;
  readonly grantedAtMs: number;
  readonly handingOverMs: number;
  /** When the first lock of its series was granted, on the clock of the process without its pauses. */
  readonly seriesSinceMs: number;
  seenValid: { fromMs: number; untilMs: number } | undefined;
  readonly process: ClientProcess;
  /** Whether the client leaves the lock to expire. */
  isForgotten = false;
  readonly #lock: Lock;
  /** Taken once: every read of `lock.signal` looks at the clocks, which a program that trusts a signal does not. */
  readonly #signal: AbortSignal | undefined;
  #isOver = false;

  /**
   * @param process whose it is
   * @param lock the lock itself
   * @param attempt what the attempt is called, and when it started
   * @param predecessor the lock that it took over, if it did
   * @param trust how the client looks at it
   */
  constructor(process: ClientProcess, lock: Lock, attempt: Attempt, predecessor: HeldRecord | undefined, trust: Trust) {
    this.process = process;
    this.client = process.name;
    this.attempt = attempt.name;
    this.takenOverFrom = attempt.takesOver;
    this.startedAtMs = attempt.startedAtMs;
    this.grantedAtMs = process.nowMs;
    this.seriesSinceMs = predecessor?.seriesSinceMs ?? process.awakeMs;
    this.handingOverMs = predecessor === undefined ? 0 : attempt.startedAtAwakeMs - this.seriesSinceMs;
    this.resources = lock.resources;
    this.fence = lock.fence;
    this.#lock = lock;
    this.#signal = trust === "signal" ? lock.signal : undefined;
  }

  /** Whether the client has given the lock up, or knows that it has lost it. */
  get isOver(): boolean {
    return this.#isOver || this.process.isDead;
  }

  /**
   * Looks at the lock as the client does: whether it is valid, and for more than `marginMs`. A pause between the readings of
   * two clocks, one of which is wrong, would be one between the look and the act, which is a fault of its own.
   */
  look(marginMs = 0): boolean {
    if (this.isOver) return false;
    const leftMs = this.process.undisturbed(() => this.#leftMs());
    if (leftMs <= 0) return false;
    this.believe();
    return leftMs > marginMs;
  }

  #leftMs(): number {
    if (this.#signal === undefined) return this.#lock.remainingMs();
    return this.#signal.aborted ? 0 : Infinity;
  }

  /** The client goes by what it saw of the lock. */
  believe(): void {
    const { nowMs } = this.process;
    if (this.seenValid === undefined) this.seenValid = { fromMs: nowMs, untilMs: nowMs };
    else this.seenValid.untilMs = Math.max(this.seenValid.untilMs, nowMs);
  }

  end(): void {
    this.#isOver = true;
  }
}

/** An attempt to lock, named after its client. */
interface Attempt {
  readonly name: string;
  readonly startedAtMs: number;
  /** The same on the clock of its process without its pauses. */
  readonly startedAtAwakeMs: number;
  /** The attempt whose claim it may replace. */
  readonly takesOver: string | undefined;
}

/** What tells an attempt from others. */
type Claimed = Pick<AcquireRequest, "owner" | "resources" | "takeover">;

/** Writes the history of a run while it happens. */
export class Recorder implements History {
  readonly locks: HeldRecord[] = [];
  readonly waits: Wait[] = [];
  readonly lostUpdates: LostUpdate[] = [];
  readonly misbehaviour: Incident[] = [];
  readonly leaks: Incident[] = [];
  recovery: Recovery | undefined;
  /** The faults that struck. */
  readonly faults: Fault[] = [];
  /** How many operations have ended. */
  operations = 0;
  /** How many wake-ups have reached clients. */
  wakeUps = 0;
  /** How many of them said that it is the turn of the client that they have reached. */
  turns = 0;
  readonly tell: Tell;
  readonly #attempts = new Map<string, Attempt>();
  readonly #held = new Map<string, HeldRecord>();
  readonly #excuses = new Set<string>();
  readonly #attemptsOf = new Map<string, number>();
  readonly #lines = new Map<string, WaitingLine>();
  readonly #ownerless = new Map<string, ClientProcess>();
  readonly #onTheWay = new Map<string, number>();

  /** @param tell hears what happens, for the timeline */
  constructor(tell: Tell) {
    this.tell = tell;
  }

  /** Follows how the calls of a process wait, which may take so long. */
  follow(process: ClientProcess, limits: WaitLimits): WaitingLine {
    const line = new WaitingLine(process, limits, this.waits);
    this.#lines.set(process.name, line);
    return line;
  }

  /** What an owner's attempt is called. The first request that it sends is its start. */
  attemptOf({ owner, resources, takeover }: Claimed, process: ClientProcess): Attempt {
    const known = this.#attempts.get(owner);
    if (known !== undefined) return known;
    const { name: client, nowMs: startedAtMs, awakeMs: startedAtAwakeMs } = process;
    const number = (this.#attemptsOf.get(client) ?? 0) + 1;
    this.#attemptsOf.set(client, number);
    const takesOver = takeover === undefined ? undefined : this.#attempts.get(takeover)?.name;
    const name = `${client}.${number}`.replace(/^client /, "");
    const attempt = { name, startedAtMs, startedAtAwakeMs, takesOver };
    this.#attempts.set(owner, attempt);
    this.#lines.get(client)?.tries(owner, resources);
    return attempt;
  }

  /** Something of an attempt went wrong on the way to a node or back: a claim may be left there until its ttl ends. */
  excuse(owner: string, node: string): void {
    this.#excuses.add(`${node} ${owner}`);
  }

  /** A request of an attempt is on its way to a node. */
  departs(owner: string, node: string): void {
    this.#onTheWay.set(`${node} ${owner}`, (this.#onTheWay.get(`${node} ${owner}`) ?? 0) + 1);
  }

  /** Its answer has reached the client. */
  arrives(owner: string, node: string): void {
    this.#onTheWay.set(`${node} ${owner}`, (this.#onTheWay.get(`${node} ${owner}`) ?? 0) - 1);
  }

  /** An attempt or a lock of a client is over, or has been won and not been given to anybody yet. */
  isNobodys(owner: string, process: ClientProcess): void {
    this.#ownerless.set(owner, process);
  }

  /** A node refuses somebody because of this owner: it must not be in the way if nobody has its lock, nor will have it. */
  inTheWay(owner: string, node: string, atMs: number): void {
    const process = this.#ownerless.get(owner);
    if (process === undefined || process.isDead || process.nowMs > atMs) return;
    if (this.#onTheWay.get(`${node} ${owner}`)) return;
    const attempt = this.inexcusable(owner, node);
    if (attempt === undefined) return;
    this.#ownerless.delete(owner); // once is enough
    this.leaked(atMs, `node ${node} refuses others because of ${attempt}, which nobody has`);
  }

  /** The attempt whose claim a node should not keep any more, if it is one that has no excuse. */
  inexcusable(owner: string, node: string): string | undefined {
    const record = this.#held.get(owner);
    if (this.#excuses.has(`${node} ${owner}`) || record?.isForgotten) return undefined;
    return this.#attempts.get(owner)?.name;
  }

  /** A client was given a lock. Everybody else who may hold one of its resources looks at their own lock now. */
  granted(process: ClientProcess, lock: Lock, trust: Trust): HeldRecord {
    const attempt = this.attemptOf(lock, process);
    const predecessor = this.locks.find((other) => other.attempt === attempt.takesOver);
    const record = new HeldRecord(process, lock, attempt, predecessor, trust);
    this.locks.push(record);
    this.#held.set(lock.owner, record);
    this.#ownerless.delete(lock.owner);
    this.tell(
      process.nowMs,
      process.name,
      () => `has lock ${record.attempt} on ${lock.resources.join(" and ")}, fence ${lock.fence}`,
    );
    const isValid = record.look();
    if (!isValid && !process.wasJustHeld)
      this.misbehaved(process.nowMs, process.name, "was given a lock that is not valid");
    this.othersLook(record);
    return record;
  }

  /** A lock was extended: so others look at theirs, and the client has seen its own valid. */
  extended(owner: string): void {
    const record = this.#held.get(owner);
    if (record === undefined) return;
    this.tell(record.process.nowMs, record.client, () => `has extended lock ${record.attempt}`);
    record.believe();
    this.othersLook(record);
  }

  /** Whoever believes to hold one of these resources looks at their lock as soon as they run. */
  othersLook(mine: HeldRecord): void {
    const { nowMs } = mine.process;
    for (const record of this.locks) {
      if (record === mine || record.isOver || !overlap(record, mine)) continue;
      record.process.receive(nowMs, () => record.look());
    }
  }

  faultStruck(atMs: number, fault: Fault): void {
    this.faults.push(fault);
    this.tell(atMs, "fault", () => describeFault(fault));
  }

  /** Something remains that should be gone. */
  leaked(atMs: number, what: string): void {
    this.leaks.push({ atMs, what });
    this.tell(atMs, "check", () => what);
  }

  /** An operation did what no operation may do. */
  misbehaved(atMs: number, who: string, what: string): void {
    this.misbehaviour.push({ atMs, what: `${who} ${what}` });
    this.tell(atMs, who, () => what);
  }
}

/** Whether two locks have a resource in common. */
function overlap(a: Pick<LockRecord, "resources">, b: Pick<LockRecord, "resources">): boolean {
  return a.resources.some((resource) => b.resources.includes(resource));
}
