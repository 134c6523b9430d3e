import { type AttemptSettledEvent, EpochError, type Lock } from "@holdfast/core";
import type { AcquireRequest } from "@holdfast/core/node";
import { describeFault } from "../report/describe-fault.ts";
import type { Log } from "../report/timeline.ts";
import type { Fault } from "../scenario/fault.ts";
import type { ClientProcess } from "../world/client-process.ts";
import type {
  AttemptRecord,
  CollectionRecord,
  Completion,
  CounterLoss,
  History,
  Incident,
  LockMode,
  LockRecord,
  LostUpdate,
  NonrepeatableRead,
  Recovery,
  StaleClaim,
  TrafficRecord,
  Trust,
  WaitingTerms,
} from "./history.ts";
import { LockMap } from "./lock-map.ts";
import { conflict } from "./resources.ts";
import type { TracedLease, Tracer } from "./tracer.ts";
import { type Waiter, Waiters } from "./waiters.ts";

/** The mode of a lock that a client was given, and how the client checks that it is valid. */
export interface LockUse {
  readonly mode: LockMode;
  readonly trust: Trust;
}

/** A lock that a client was given. */
export class HeldRecord implements LockRecord {
  readonly attempt: string;
  readonly client: string;
  readonly resources: readonly string[];
  readonly mode: LockMode;
  readonly fence: number;
  readonly takenOverFrom: string | undefined;
  readonly startedAtMs: number;
  readonly grantedAtMs: number;
  readonly handingOverMs: number;
  /** When the first lock of its series of hand-overs was granted, on the clock of the process without its pauses. */
  readonly seriesSinceMs: number;
  endedAtMs: number | undefined;
  seenValid: { fromMs: number; untilMs: number } | undefined;
  readonly process: ClientProcess;
  /** Whether the client lets the lock expire. */
  isForgotten = false;
  readonly #lock: Lock;
  /** Read once: each read of `lock.signal` reads the clocks, which a program that trusts a signal does not do. */
  readonly #signal: AbortSignal | undefined;
  /** Records what the client does with its lock, if there is a trace. */
  trace: TracedLease | undefined;
  #isOver = false;

  /**
   * @param process the process that holds the lock
   * @param lock the lock itself
   * @param attempt the attempt that won it
   * @param handOver the lock that it took over from another call, if any
   * @param use the mode of the lock, and how the client checks that it is valid
   */
  constructor(process: ClientProcess, lock: Lock, attempt: Attempt, handOver: HandOver | undefined, use: LockUse) {
    this.process = process;
    this.client = attempt.client;
    this.attempt = attempt.name;
    this.takenOverFrom = handOver?.from.attempt;
    this.startedAtMs = attempt.startedAtMs;
    this.grantedAtMs = process.nowMs;
    this.seriesSinceMs = handOver?.from.seriesSinceMs ?? process.awakeMs;
    this.handingOverMs = handOver === undefined ? 0 : handOver.startedAtAwakeMs - this.seriesSinceMs;
    this.resources = lock.resources;
    this.mode = use.mode;
    this.fence = lock.fence;
    this.#lock = lock;
    this.#signal = use.trust === "signal" ? lock.signal : undefined;
  }

  /** Whether the client has given up the lock, or knows that it has lost it. */
  get isOver(): boolean {
    return this.#isOver || this.process.isDead;
  }

  /**
   * Checks, as the client does, whether the lock is valid for more than `marginMs`. No pause strikes between the
   * readings of the two clocks: with one clock wrong, it would amount to a pause between look and act, which is a
   * separate fault.
   */
  look(marginMs = 0): boolean {
    if (this.isOver) return false;
    const leftMs = this.process.undisturbed(() => this.#leftMs());
    this.trace?.looks(leftMs);
    if (leftMs <= 0) return false;
    this.believe();
    return leftMs > marginMs;
  }

  #leftMs(): number {
    if (this.#signal === undefined) return this.#lock.remainingMs();
    return this.#signal.aborted ? 0 : Infinity;
  }

  /** Notes that the client relies on the lock at present. */
  believe(): void {
    const { nowMs } = this.process;
    if (this.seenValid === undefined) this.seenValid = { fromMs: nowMs, untilMs: nowMs };
    else this.seenValid.untilMs = Math.max(this.seenValid.untilMs, nowMs);
  }

  /** Notes that the client has crashed: it did not live to rely on its lock later. */
  dies(atMs: number): void {
    if (this.seenValid === undefined || this.seenValid.untilMs <= atMs) return;
    const { fromMs } = this.seenValid;
    this.seenValid = fromMs > atMs ? undefined : { fromMs, untilMs: atMs };
  }

  end(): void {
    this.#isOver = true;
    this.trace?.ends();
  }

  /** Lets the lock expire. */
  forget(): void {
    this.isForgotten = true;
    this.trace?.leavesToExpire();
  }
}

/** An attempt to lock, named after its client. */
export interface Attempt extends AttemptRecord {
  readonly owner: string;
  settledAtMs: number | undefined;
  isUnreachable?: boolean;
  /** The same as `startedAtMs`, on the clock of its process without its pauses. */
  readonly startedAtAwakeMs: number;
  /** The attempt whose claim it may take over. */
  readonly takesOver: Attempt | undefined;
  /** Since when its claim, or the claim that it took over, is held without being a lock, on the same clock. */
  collectedSinceMs: number | undefined;
}

/** How a lock passed from one call of a process to another. */
interface HandOver {
  readonly from: HeldRecord;
  /** When the first attempt to take it over began, on the clock of the process without its pauses. */
  readonly startedAtAwakeMs: number;
}

/** When clients of an epoch are served. */
interface Served {
  readonly fromMs: number;
  untilMs: number;
}

/** The name of a client in each epoch, as each of its `Redlock`s waits on its own. */
function nameInEpoch(client: string, epoch: number): string {
  return epoch === 1 ? client : `${client} in epoch ${epoch}`;
}

/** The epoch of the client that signed a claim. */
export function epochOf(owner: string): number {
  return Number(/\.(\d+)$/.exec(owner)?.[1] ?? 1);
}

/** What identifies an attempt. */
type Claimed = Pick<AcquireRequest, "owner" | "resources" | "takeover">;

/** How many replies a node may owe before core withholds requests from it while it is silent. */
const owedMax = 512;

/** Records the history of a run. */
export class Recorder implements History {
  readonly locks: HeldRecord[] = [];
  readonly waiters: Waiter[] = [];
  readonly lostUpdates: LostUpdate[] = [];
  readonly nonrepeatableReads: NonrepeatableRead[] = [];
  readonly attempts: Attempt[] = [];
  readonly collections: CollectionRecord[] = [];
  readonly traffic: TrafficRecord[] = [];
  readonly isFaultless: boolean;
  completion: Completion | undefined;
  readonly misbehaviour: Incident[] = [];
  readonly brokenInvariants: Incident[] = [];
  readonly leaks: Incident[] = [];
  recovery: Recovery | undefined;
  readonly counterLosses: CounterLoss[] = [];
  readonly staleClaims: StaleClaim[] = [];
  /** How many changes of the set of nodes have been completed. */
  changes = 0;
  /** The faults that struck. */
  readonly faults: Fault[] = [];
  /** How many operations have ended. */
  operations = 0;
  /** How many notifications have reached clients. */
  notifications = 0;
  /** How many of them named the receiving client as the next. */
  turns = 0;
  readonly log: Log;
  /** Records the trace, if there is one. */
  tracer: Tracer | undefined;
  readonly #attempts = new Map<string, Attempt>();
  readonly #held = new Map<string, HeldRecord>();
  readonly #excuses = new Set<string>();
  readonly #attemptsOf = new Map<string, number>();
  readonly #waiters = new Map<string, Waiters>();
  readonly #served = new Map<number, Served>([[1, { fromMs: 0, untilMs: Infinity }]]);
  /** The owners of attempts that a node refused because of the epoch. */
  readonly #refused = new Set<string>();
  readonly #lockMap = new LockMap();
  readonly #ownerless = new Map<string, ClientProcess>();
  /** How many requests of each owner are in flight to each node. */
  readonly #onTheWay = new Map<string, Map<string, number>>();
  /** Attempts whose claim was granted, then given up or taken over without becoming a lock. */
  readonly #collected = new Set<Attempt>();

  /**
   * @param log receives every event, for the timeline
   * @param isFaultless whether the scenario has no faults
   */
  constructor(log: Log, isFaultless: boolean) {
    this.log = log;
    this.isFaultless = isFaultless;
  }

  /** Returns the name of an owner's attempt, if it has made one. */
  nameOf(owner: string): string | undefined {
    return this.#attempts.get(owner)?.name;
  }

  /** Starts recording how the calls of a process wait in an epoch. */
  follow(process: ClientProcess, terms: WaitingTerms, epoch = 1): Waiters {
    const name = nameInEpoch(process.name, epoch);
    const waiters = new Waiters(process, name, terms, this.#lockMap, this.waiters);
    this.#waiters.set(name, waiters);
    return waiters;
  }

  #waitersOf(owner: string, process: ClientProcess): Waiters | undefined {
    return this.#waiters.get(nameInEpoch(process.name, epochOf(owner)));
  }

  /** Notes that nodes serve clients of an epoch from now on. */
  serves(epoch: number, atMs: number): void {
    this.#served.set(epoch, { fromMs: atMs, untilMs: Infinity });
  }

  /** Notes that the operator starts to make nodes refuse the clients of an epoch. */
  stopsServing(epoch: number, atMs: number): void {
    const served = this.#served.get(epoch);
    if (served !== undefined) served.untilMs = Math.min(served.untilMs, atMs);
  }

  /** Notes that a node rejected a request of an attempt. */
  refused(owner: string, reason: unknown): void {
    if (reason instanceof EpochError) this.#refused.add(owner);
  }

  /** Records an attempt that failed because of its epoch, although clients of this epoch were served all the time. */
  #checkEpoch({ name, owner, startedAtMs }: Attempt, process: ClientProcess): void {
    if (!this.#refused.has(owner)) return;
    const epoch = epochOf(owner);
    const { fromMs, untilMs } = this.#served.get(epoch) ?? { fromMs: Infinity, untilMs: -Infinity };
    if (startedAtMs < fromMs || process.nowMs > untilMs) return;
    this.misbehaved(process.nowMs, process.name, `cannot make attempt ${name}: nodes refuse its epoch, ${epoch}`);
  }

  /** Notes that all faults, and what they left behind, are over: resources without a lock can be locked. */
  calmDown(): void {
    for (const waiters of this.#waiters.values()) waiters.endIfDead();
    this.#lockMap.calmDown();
  }

  /** Returns the attempt of an owner. Its first request starts it. */
  attemptOf({ owner, resources, takeover }: Claimed, process: ClientProcess): Attempt {
    const known = this.#attempts.get(owner);
    if (known !== undefined) return known;
    const { nowMs: startedAtMs, awakeMs: startedAtAwakeMs } = process;
    const number = (this.#attemptsOf.get(process.name) ?? 0) + 1;
    this.#attemptsOf.set(process.name, number);
    const name = `${process.name}.${number}`.replace(/^client /, "");
    const client = nameInEpoch(process.name, epochOf(owner));
    const times = { startedAtMs, startedAtAwakeMs, settledAtMs: undefined, collectedSinceMs: undefined };
    const takesOver = takeover === undefined ? undefined : this.#attempts.get(takeover);
    const attempt: Attempt = { name, client, owner, resources, takesOver, ...times };
    this.#attempts.set(owner, attempt);
    this.attempts.push(attempt);
    this.#waiters.get(client)?.tries(owner, resources);
    return attempt;
  }

  /**
   * Notes the outcome of an attempt. One that sent nothing counts as well, if a node is silent: core withholds requests
   * from nodes that owe hundreds of replies, and backs off as after any failure.
   */
  settled({ owner, resources, outcome }: AttemptSettledEvent, process: ClientProcess): void {
    const attempt = this.#attempts.get(owner);
    const waiters = this.#waitersOf(owner, process);
    const isWithheld =
      attempt === undefined && this.traffic.some(({ client, owed }) => client === process.name && owed >= owedMax);
    if (isWithheld) waiters?.tries(owner, resources);
    waiters?.settles(owner);
    this.#setOwnerless(owner, process);
    if (attempt === undefined) return;
    attempt.settledAtMs = process.nowMs;
    attempt.isUnreachable = outcome === "unreachable";
    if (outcome === "misconfigured") this.#checkEpoch(attempt, process);
    if (outcome !== "acquired" && outcome !== "collected") return;
    const predecessor = attempt.takesOver;
    attempt.collectedSinceMs = predecessor?.collectedSinceMs ?? process.awakeMs;
    if (predecessor !== undefined) this.#endCollection(predecessor, process);
  }

  /** Notes that a claim is being released. */
  givesUp(owner: string, process: ClientProcess): void {
    const attempt = this.#attempts.get(owner);
    this.#waitersOf(owner, process)?.settles(owner);
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

  /** Notes that a lock was lost. */
  lost(owner: string, process: ClientProcess): void {
    this.tracer?.lost(owner, process.nowMs);
    this.ended(owner, process);
  }

  /** Notes that a lock was released or lost. */
  ended(owner: string, process: ClientProcess): void {
    const record = this.#held.get(owner);
    if (record !== undefined) record.endedAtMs ??= process.nowMs;
    this.#waitersOf(owner, process)?.ends(owner);
    this.#setOwnerless(owner, process);
  }

  /** Notes that a message of an attempt was lost or changed: its claim may stay on the node until its ttl ends. */
  excuse(owner: string, node: string): void {
    this.#excuses.add(`${node} ${owner}`);
  }

  /** Notes that a request of an attempt is in flight to a node. */
  departs(owner: string, node: string): void {
    const counts = this.#onTheWay.get(owner) ?? new Map();
    this.#onTheWay.set(owner, counts.set(node, (counts.get(node) ?? 0) + 1));
  }

  /** Notes that its reply has reached the client. */
  arrives(owner: string, node: string): void {
    const counts = this.#onTheWay.get(owner);
    counts?.set(node, (counts.get(node) ?? 0) - 1);
  }

  /** Notes that no caller has this attempt's lock: it is over, or it was won and not handed out yet. */
  #setOwnerless(owner: string, process: ClientProcess): void {
    this.#ownerless.set(owner, process);
  }

  /** Notes that a node denies others because of this owner: a leak, if no caller has or will get the owner's lock. */
  blocks(owner: string, node: string, atMs: number): void {
    const process = this.#ownerless.get(owner);
    if (process === undefined || process.isDead || process.nowMs > atMs) return;
    if (this.#onTheWay.get(owner)?.get(node) || this.#isCollected(owner, process)) return;
    const attempt = this.unexcused(owner, node);
    if (attempt === undefined) return;
    this.#ownerless.delete(owner); // once is enough
    this.leaked(atMs, `node ${node} denies others because of ${attempt}, although no caller has its lock`);
  }

  /** Whether a waiter for several resources has collected this claim and still waits for the rest. */
  #isCollected(owner: string, process: ClientProcess): boolean {
    const attempt = this.#attempts.get(owner);
    if (attempt?.collectedSinceMs === undefined || this.#collected.has(attempt)) return false;
    return this.#waitersOf(owner, process)?.isCollected(attempt.resources) ?? false;
  }

  /** The lock that an attempt took over, directly or through collected claims. */
  #handOverTo(attempt: Attempt): HandOver | undefined {
    for (let step: Attempt | undefined = attempt; step?.takesOver !== undefined; step = step.takesOver) {
      const from = this.#held.get(step.takesOver.owner);
      if (from !== undefined) return { from, startedAtAwakeMs: step.startedAtAwakeMs };
    }
    return undefined;
  }

  /** Returns the owner's attempt if nothing explains why a node still keeps its claim. */
  unexcused(owner: string, node: string): string | undefined {
    const record = this.#held.get(owner);
    if (this.#excuses.has(`${node} ${owner}`) || record?.isForgotten) return undefined;
    return this.#attempts.get(owner)?.name;
  }

  /** Records a lock that a client was given, and makes the holders of locks that it excludes look at theirs. */
  granted(process: ClientProcess, lock: Lock, use: LockUse): HeldRecord {
    const attempt = this.attemptOf(lock, process);
    const record = new HeldRecord(process, lock, attempt, this.#handOverTo(attempt), use);
    this.locks.push(record);
    this.#held.set(lock.owner, record);
    record.trace = this.tracer?.granted(lock.owner, process, record);
    this.#ownerless.delete(lock.owner);
    attempt.collectedSinceMs = undefined;
    const kind = use.mode === "shared" ? "shared lock" : "lock";
    this.log(
      process.nowMs,
      process.name,
      () => `has ${kind} ${record.attempt} on ${lock.resources.join(" and ")}, fence ${lock.fence}`,
    );
    const isValid = record.look();
    if (!isValid && !process.wasJustHeld) this.misbehaved(process.nowMs, process.name, "was given an invalid lock");
    this.othersLook(record);
    return record;
  }

  /** Notes that a client extended its lock and saw it valid, and makes the holders of locks that it excludes look at theirs. */
  extended(owner: string, remainingMs: number): void {
    const record = this.#held.get(owner);
    if (record === undefined) return;
    this.tracer?.extended(owner, remainingMs);
    this.log(record.process.nowMs, record.client, () => `has extended lock ${record.attempt}`);
    record.believe();
    this.othersLook(record);
  }

  /** Makes every other client that believes to hold a lock that this one excludes look at it when it next runs. */
  othersLook(mine: HeldRecord): void {
    const { nowMs } = mine.process;
    for (const record of this.locks) {
      if (record === mine || record.isOver || !conflict(record, mine)) continue;
      record.process.receive(nowMs, () => record.look());
    }
  }

  faultStruck(atMs: number, fault: Fault): void {
    this.faults.push(fault);
    this.tracer?.struck(atMs, fault);
    if (fault.kind === "client crash") {
      for (const record of this.locks) if (record.client === fault.client) record.dies(atMs);
    }
    this.log(atMs, "fault", () => describeFault(fault));
  }

  /** Records something that was left behind. */
  leaked(atMs: number, what: string): void {
    this.leaks.push({ atMs, what });
    this.log(atMs, "check", () => what);
  }

  /** Records that the invariant of `SimulateOptions` is broken, for the first time. */
  broke(atMs: number, what: string): void {
    if (this.brokenInvariants.length > 0) return;
    this.brokenInvariants.push({ atMs, what });
    this.log(atMs, "check", () => what);
  }

  /** Records an operation that did something that no operation may do. */
  misbehaved(atMs: number, who: string, what: string): void {
    this.misbehaviour.push({ atMs, what: `${who} ${what}` });
    this.log(atMs, who, () => what);
  }
}
