import { Exclusion, type LockedTime, type LockPair, TokenOrder } from "./locks.ts";
import type { Line } from "./read.ts";
import type { TimelineLine } from "./timeline.ts";
import { type AccessFault, type RecordedAccess, ValueChecks } from "./values.ts";

/** A violation, or an access at which the search gave up. */
export interface HistoryFinding {
  /** The rule that is violated, or could not be decided. */
  readonly rule: "exclusion" | "token order" | "stale write" | "linearizability";
  /** The resource. */
  readonly resource: string;
  /** A description of the event. */
  readonly what: string;
  /** The latest events on the resource, and those involved. Times count from the first line of the history. */
  readonly timeline: readonly TimelineLine[];
}

/** What a history shows. */
export interface Judgement {
  /**
   * `correct`: the history violates nothing. `violated`: it does. `undecided`: no violation was found, but the accesses to
   * a value have too many possible orders to try.
   */
  readonly verdict: "correct" | "violated" | "undecided";
  /** The first violations: at most 20. */
  readonly findings: readonly HistoryFinding[];
  /** The number of all violations. Of each value, only the first violation of linearizability counts. */
  readonly violations: number;
  /** The values that could not be judged to the end: at most 20. */
  readonly undecided: readonly HistoryFinding[];
  /** The number of locks. */
  readonly locks: number;
  /** The number of reads and writes. */
  readonly accesses: number;
}

/** A process that wrote a file. */
export interface Recorded {
  readonly process: string;
  /** Its locks by owner, and its accesses without an answer. */
  readonly locks: Map<string, RecordedLock>;
  readonly accesses: Map<number, RecordedAccess>;
}

/** A lock, as its file shows it. */
interface RecordedLock extends LockedTime {
  readonly source: Recorded;
  readonly wallMs: number;
  heldUntilMs: number;
  wallUntilMs: number;
  /** Its grant. */
  readonly line: TimelineLine;
}

const shownFindings = 20;
const shownLines = 20;

/** Judges the lines of all files in the order of their times. */
export class HistoryJudge {
  readonly #isOneClock: boolean;
  readonly #marginMs: number;
  readonly #maxStates: number;
  readonly #exclusion: Exclusion<RecordedLock>;
  readonly #tokens: TokenOrder<RecordedLock>;
  readonly #values = new Map<string, ValueChecks>();
  /** The latest lines of each resource. */
  readonly #recent = new Map<string, TimelineLine[]>();
  readonly #counts = { locks: 0, accesses: 0, violations: 0 };
  readonly #findings: HistoryFinding[] = [];
  readonly #undecided: HistoryFinding[] = [];
  #startMs: number | undefined;

  /**
   * @param isOneClock whether all files count time on the monotonic clock of one machine
   * @param marginMs by how much the clocks of two files may differ, in milliseconds
   * @param maxStates how many states to search for one answer
   */
  constructor(isOneClock: boolean, marginMs: number, maxStates: number) {
    this.#isOneClock = isOneClock;
    this.#marginMs = marginMs;
    this.#maxStates = maxStates;
    const margin = (one: RecordedLock, other: RecordedLock) => (one.source === other.source ? 0 : marginMs);
    // A holder gives up its lock when either of its clocks says so. Only the wall clock shows that a machine was suspended.
    const isOver = (earlier: RecordedLock, later: RecordedLock) => isOneClock && earlier.wallUntilMs <= later.wallMs;
    this.#exclusion = new Exclusion({ marginMs: margin, isOver });
    this.#tokens = new TokenOrder({ marginMs: margin });
  }

  /** Adds a line. Returns false if it cannot follow those before in its file. */
  hear(source: Recorded, line: Line, nowMs: number): boolean {
    const { locks, accesses } = source;
    this.#startMs ??= nowMs;
    if (line.event === "acquired") locks.set(line.owner, this.#acquired(source, line, nowMs));
    else if (line.event === "read" || line.event === "write") accesses.set(line.id, this.#called(source, line, nowMs));
    else if (line.event === "answered") {
      const access = accesses.get(line.id);
      if (access === undefined) return false;
      accesses.delete(line.id);
      this.#answered(access, line, nowMs);
    } else if (line.event !== "started") {
      const lock = locks.get(line.owner);
      if (lock !== undefined) this.#changed(lock, line, nowMs);
      if (line.event !== "extended") locks.delete(line.owner);
    }
    return true;
  }

  /** Judges what is left. */
  end(): Judgement {
    for (const pair of this.#exclusion.endAll()) this.#foundOverlap(pair);
    for (const value of this.#values.values()) value.judge(Infinity);
    const openVerdict = this.#undecided.length > 0 ? "undecided" : "correct";
    const verdict = this.#counts.violations > 0 ? "violated" : openVerdict;
    return { verdict, ...this.#counts, findings: this.#findings, undecided: this.#undecided };
  }

  #acquired(source: Recorded, line: Line, grantedAtMs: number): RecordedLock {
    const { resources, mode, fence, fromMs, fromWallMs, validityMs, wallMs } = line;
    const attemptAtMs = this.#isOneClock ? fromMs : fromWallMs;
    const ends = { heldUntilMs: attemptAtMs + validityMs, wallUntilMs: fromWallMs + validityMs };
    const what = `gets a lock with token ${fence} on ${resources.join(", ")}${mode === "shared" ? ", shared" : ""}`;
    const shown = this.#note(source, grantedAtMs, resources, what);
    const lock = { source, resources, mode, fence, attemptAtMs, grantedAtMs, wallMs, ...ends, line: shown };
    this.#counts.locks += 1;
    const fault = this.#tokens.grant(lock);
    if (fault !== undefined) this.#foundDisorder(fault);
    // A process that is paused just then finds that its lock is already over.
    const isValid = lock.heldUntilMs > grantedAtMs && lock.wallUntilMs > wallMs;
    if (isValid) for (const pair of this.#exclusion.grant(lock)) this.#foundOverlap(pair);
    return lock;
  }

  #changed(lock: RecordedLock, line: Line, nowMs: number): void {
    const { source, resources, fence } = lock;
    if (line.event === "extended") {
      lock.heldUntilMs = (this.#isOneClock ? line.fromMs : line.fromWallMs) + line.validityMs;
      lock.wallUntilMs = line.fromWallMs + line.validityMs;
      this.#note(source, nowMs, resources, `extends its lock with token ${fence}`);
      return;
    }
    const verb = line.event === "lost" ? "loses" : "releases";
    this.#note(source, nowMs, resources, `${verb} its lock with token ${fence}`);
    lock.heldUntilMs = Math.min(lock.heldUntilMs, nowMs);
    for (const pair of this.#exclusion.end(lock)) this.#foundOverlap(pair);
  }

  #called(source: Recorded, line: Line, invokedAtMs: number): RecordedAccess {
    const { resource, fence, value } = line;
    const kind = line.event === "read" ? "read" : "write";
    this.#counts.accesses += 1;
    const access: RecordedAccess = {
      ...{ id: this.#counts.accesses, kind, process: source, resource, fence, value, basis: undefined },
      ...{ outcome: undefined, invokedAtMs, answeredAtMs: Infinity },
    };
    this.#note(
      source,
      invokedAtMs,
      [resource],
      `${kind === "read" ? "reads" : `writes ${access.value}`}${tokenOf(access)}`,
    );
    const checks = this.#checksOf(resource);
    checks.invoke(access);
    checks.judge(invokedAtMs);
    return access;
  }

  #answered(access: RecordedAccess, { outcome, value }: Line, nowMs: number): void {
    const { kind, process, resource } = access;
    const isRead = kind === "read" && outcome === "accepted";
    if (isRead) access.value = value;
    access.outcome = outcome;
    access.answeredAtMs = nowMs;
    this.#note(process, nowMs, [resource], isRead ? `has read ${access.value}` : `is answered: ${kind} ${outcome}`);
    const checks = this.#checksOf(resource);
    if (outcome === "accepted") checks.answer(access);
    checks.judge(nowMs);
  }

  #checksOf(resource: string): ValueChecks {
    const onFault = (fault: AccessFault) => this.#foundFault(fault);
    const options = { maxStates: this.#maxStates, marginMs: this.#marginMs, onFault };
    const checks = this.#values.get(resource) ?? new ValueChecks(options);
    this.#values.set(resource, checks);
    return checks;
  }

  #foundOverlap({ earlier, later }: LockPair<RecordedLock>): void {
    const [first, second] = [earlier, later].map(({ source, fence }) => `${source.process} (token ${fence})`);
    const ms = (earlier.heldUntilMs - later.grantedAtMs).toFixed(2);
    this.#found(
      "exclusion",
      commonOf(earlier, later),
      `${second} got its lock ${ms} ms before that of ${first} ended`,
      [earlier.line, later.line],
    );
  }

  #foundDisorder({ earlier, later }: LockPair<RecordedLock>): void {
    const what =
      earlier.fence === later.fence
        ? `two locks have the token ${later.fence}`
        : `token ${later.fence} was granted to a request made after the grant of token ${earlier.fence}`;
    this.#found("token order", commonOf(earlier, later), what, [earlier.line, later.line]);
  }

  #foundFault(fault: AccessFault): void {
    const { rule, access } = fault;
    const { kind, value, fence, resource, process } = access;
    if (rule === "stale write") {
      const { newest } = fault;
      const what = `a write with token ${fence} was accepted after a ${newest.kind} with token ${newest.fence}`;
      this.#found(rule, resource, what, []);
    } else if (rule === "linearizability") {
      const isUpdate = kind === "write" && access.basis !== undefined;
      const lost = `${process.process} wrote ${value} over a value other than the ${access.basis} that it had seen`;
      const what = isUpdate ? lost : `no order of the accesses explains that ${process.process} has read ${value}`;
      this.#found(rule, resource, what, []);
    } else if (this.#undecided.length < shownFindings) {
      const what = `more than ${this.#maxStates} states are possible when ${process.process} is answered`;
      this.#undecided.push({ rule: "linearizability", resource, what, timeline: this.#timelineOf(resource, []) });
    }
  }

  #found(rule: HistoryFinding["rule"], resource: string, what: string, involved: readonly TimelineLine[]): void {
    this.#counts.violations += 1;
    if (this.#findings.length >= shownFindings) return;
    const timeline = this.#timelineOf(resource, involved);
    const atMs = timeline.at(-1)?.atMs ?? 0;
    const violation = { atMs, who: "VIOLATED", what: `${rule}: ${what}` };
    this.#findings.push({ rule, resource, what, timeline: [...timeline, violation] });
  }

  #timelineOf(resource: string, involved: readonly TimelineLine[]): TimelineLine[] {
    const lines = [...new Set([...involved, ...(this.#recent.get(resource) ?? [])])];
    return lines.sort((a, b) => a.atMs - b.atMs);
  }

  #note(
    { process }: Pick<Recorded, "process">,
    nowMs: number,
    resources: readonly string[],
    what: string,
  ): TimelineLine {
    const line = { atMs: nowMs - (this.#startMs ?? 0), who: process, what };
    for (const resource of resources) {
      const lines = this.#recent.get(resource) ?? [];
      this.#recent.set(resource, lines);
      lines.push(line);
      if (lines.length > shownLines) lines.shift();
    }
    return line;
  }
}

function tokenOf({ fence }: RecordedAccess): string {
  return fence === undefined ? "" : ` with token ${fence}`;
}

function commonOf(one: RecordedLock, other: RecordedLock): string {
  return one.resources.find((resource) => other.resources.includes(resource)) ?? "";
}
