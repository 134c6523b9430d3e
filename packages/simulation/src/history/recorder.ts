import type { AcquireRequest, Lock } from "@holdfast/core";
import { describeFault } from "../report/describe-fault.ts";
import type { Tell } from "../report/timeline.ts";
import type { Fault } from "../scenario/fault.ts";
import type { ClientProcess } from "../world/client-process.ts";
import {
  type AttemptRecord,
  type CollectionRecord,
  type Completion,
  type History,
  type Incident,
  type LockRecord,
  type LostUpdate,
  overlap,
  type Recovery,
  type TrafficRecord,
} from "./history.ts";
import { LockMap } from "./lock-map.ts";
import { type Waiter, Waiters, type WaitingTerms } from "./waiters.ts";

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
  endedAtMs: number | undefined;
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
   * @param handOver the lock that it took over from another call, if it did
   * @param trust how the client looks at it
   */
  constructor(process: ClientProcess, lock: Lock, attempt: Attempt, handOver: HandOver | undefined, trust: Trust) {
    this.process = process;
    this.client = process.name;
    this.attempt = attempt.name;
    this.takenOverFrom = handOver?.from.attempt;
    this.startedAtMs = attempt.startedAtMs;
    this.grantedAtMs = process.nowMs;
    this.seriesSinceMs = handOver?.from.seriesSinceMs ?? process.awakeMs;
    this.handingOverMs = handOver === undefined ? 0 : handOver.startedAtAwakeMs - this.seriesSinceMs;
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
interface Attempt extends AttemptRecord {
  readonly owner: string;
  settledAtMs: number | undefined;
  /** The same as `startedAtMs`, on the clock of its process without its pauses. */
  readonly startedAtAwakeMs: number;
  /** The attempt whose claim it may replace. */
  readonly takesOver: Attempt | undefined;
  /** Since when its claim, and what that took over, is held without being a lock, on the same clock. */
  collectedSinceMs: number | undefined;
}

/** How a lock passed from one call of a process to another. */
interface HandOver {
  readonly from: HeldRecord;
  /** When the first attempt to take it over began, on the clock of the process without its pauses. */
  readonly startedAtAwakeMs: number;
}

/** What tells an attempt from others. */
type Claimed = Pick<AcquireRequest, "owner" | "resources" | "takeover">;

/** Writes the history of a run while it happens. */
export class Recorder implements History {
  readonly locks: HeldRecord[] = [];
  readonly waiters: Waiter[] = [];
  readonly lostUpdates: LostUpdate[] = [];
  readonly attempts: Attempt[] = [];
  readonly collections: CollectionRecord[] = [];
  readonly traffic: TrafficRecord[] = [];
  readonly isFaultless: boolean;
  completion: Completion | undefined;
  readonly misbehaviour: Incident[] = [];
  readonly leaks: Incident[] = [];
  recovery: Recovery | undefined;
  /** The faults that struck. */
  readonly faults: Fault[] = [];
  /** How many operations have ended. */
  operations = 0;
  /** How many notifications have reached clients. */
  notifications = 0;
  /** How many of them said that it is the turn of the client that they have reached. */
  turns = 0;
  readonly tell: Tell;
  readonly #attempts = new Map<string, Attempt>();
  readonly #held = new Map<string, HeldRecord>();
  readonly #excuses = new Set<string>();
  readonly #attemptsOf = new Map<string, number>();
  readonly #waiters = new Map<string, Waiters>();
  readonly #lockMap = new LockMap();
  readonly #ownerless = new Map<string, ClientProcess>();
  readonly #onTheWay = new Map<string, number>();
  /** Claims that were won, and given up without ever being a lock. */
  readonly #collected = new Set<Attempt>();

  /**
   * @param tell hears what happens, for the timeline
   * @param isFaultless whether no fault is there to strike
   */
  constructor(tell: Tell, isFaultless: boolean) {
    this.tell = tell;
    this.isFaultless = isFaultless;
  }

  /** Follows how the calls of a process wait. */
  follow(process: ClientProcess, terms: WaitingTerms): Waiters {
    const waiters = new Waiters(process, terms, this.#lockMap, this.waiters);
    this.#waiters.set(process.name, waiters);
    return waiters;
  }

  /** All faults, and what they left behind, are over: what nobody has locked can be had from now on. */
  calmDown(): void {
    for (const waiters of this.#waiters.values()) waiters.endIfDead();
    this.#lockMap.calmDown();
  }

  /** What an owner's attempt is called. The first request that it sends is its start. */
  attemptOf({ owner, resources, takeover }: Claimed, process: ClientProcess): Attempt {
    const known = this.#attempts.get(owner);
    if (known !== undefined) return known;
    const { name: client, nowMs: startedAtMs, awakeMs: startedAtAwakeMs } = process;
    const number = (this.#attemptsOf.get(client) ?? 0) + 1;
    this.#attemptsOf.set(client, number);
    const name = `${client}.${number}`.replace(/^client /, "");
    const times = { startedAtMs, startedAtAwakeMs, settledAtMs: undefined, collectedSinceMs: undefined };
    const takesOver = takeover === undefined ? undefined : this.#attempts.get(takeover);
    const attempt: Attempt = { name, client, owner, resources, takesOver, ...times };
    this.#attempts.set(owner, attempt);
    this.attempts.push(attempt);
    this.#waiters.get(client)?.tries(owner, resources);
    return attempt;
  }

  /** The outcome of an attempt is certain. */
  settled(owner: string, isWon: boolean, process: ClientProcess): void {
    const attempt = this.#attempts.get(owner);
    this.#waiters.get(process.name)?.settles(owner);
    this.#isNobodys(owner, process);
    if (attempt === undefined) return;
    attempt.settledAtMs = process.nowMs;
    if (!isWon) return;
    const predecessor = attempt.takesOver;
    attempt.collectedSinceMs = predecessor?.collectedSinceMs ?? process.awakeMs;
    if (predecessor !== undefined) this.#endCollection(predecessor, process);
  }

  /** A claim is released. */
  givesUp(owner: string, process: ClientProcess): void {
    const attempt = this.#attempts.get(owner);
    this.#waiters.get(process.name)?.settles(owner);
    if (attempt !== undefined) this.#endCollection(attempt, process);
  }

  #endCollection(attempt: Attempt, process: ClientProcess): void {
    const { name, client, owner, resources, collectedSinceMs } = attempt;
    if (collectedSinceMs === undefined || this.#held.has(owner) || this.#collected.has(attempt)) return;
    this.#collected.add(attempt);
    const attemptMs = this.#waiters.get(client)?.terms.attemptMs ?? 0;
    const keptMs = process.awakeMs - collectedSinceMs;
    this.collections.push({ attempt: name, client, resources, endedAtMs: process.nowMs, keptMs, attemptMs });
  }

  /** A lock was released or lost. */
  ended(owner: string, process: ClientProcess): void {
    const record = this.#held.get(owner);
    if (record !== undefined) record.endedAtMs ??= process.nowMs;
    this.#waiters.get(process.name)?.ends(owner);
    this.#isNobodys(owner, process);
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
  #isNobodys(owner: string, process: ClientProcess): void {
    this.#ownerless.set(owner, process);
  }

  /** A node refuses somebody because of this owner: it must not be in the way if nobody has its lock, nor will have it. */
  inTheWay(owner: string, node: string, atMs: number): void {
    const process = this.#ownerless.get(owner);
    if (process === undefined || process.isDead || process.nowMs > atMs) return;
    if (this.#onTheWay.get(`${node} ${owner}`) || this.#isCollected(owner, process)) return;
    const attempt = this.inexcusable(owner, node);
    if (attempt === undefined) return;
    this.#ownerless.delete(owner); // once is enough
    this.leaked(atMs, `node ${node} refuses others because of ${attempt}, which nobody has`);
  }

  /** Whether a waiter for several resources has collected this claim, and still waits for the others. */
  #isCollected(owner: string, process: ClientProcess): boolean {
    const attempt = this.#attempts.get(owner);
    if (attempt?.collectedSinceMs === undefined || this.#collected.has(attempt)) return false;
    return this.#waiters.get(process.name)?.isCollected(attempt.resources) ?? false;
  }

  /** The lock that an attempt took over, at once or by claims in between that were no locks. */
  #handOverTo(attempt: Attempt): HandOver | undefined {
    for (let step: Attempt | undefined = attempt; step?.takesOver !== undefined; step = step.takesOver) {
      const from = this.#held.get(step.takesOver.owner);
      if (from !== undefined) return { from, startedAtAwakeMs: step.startedAtAwakeMs };
    }
    return undefined;
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
    const record = new HeldRecord(process, lock, attempt, this.#handOverTo(attempt), trust);
    this.locks.push(record);
    this.#held.set(lock.owner, record);
    this.#ownerless.delete(lock.owner);
    attempt.collectedSinceMs = undefined;
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
