import { commonOf, Exclusion, type LockedTime, type LockPair, TokenOrder } from "./locks.ts";
import { HistoryError, type Line } from "./read.ts";
import type { TimelineLine } from "./timeline.ts";
import { type Known, type RecordedAccess, ValueChecks } from "./values.ts";

/** A violation, or an access at which the search gave up. */
export interface HistoryFinding {
  /** The rule that is violated. `undecided`: the accesses to a value have too many possible orders to try. */
  readonly rule: "exclusion" | "token order" | "stale write" | "linearizability" | "undecided";
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
   * `correct`: the history violates nothing. `violated`: it does. `undecided`: no violation was found, but a value could not
   * be judged to the end.
   */
  readonly verdict: "correct" | "violated" | "undecided";
  /** The first findings: at most 20. */
  readonly findings: readonly HistoryFinding[];
  /** The number of all violations. Of each value, only the first violation of linearizability counts. */
  readonly violations: number;
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
  /** What it knows of values, by token. */
  readonly known: Map<string, Known>;
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

/** Of how many resources the latest lines are remembered: a history may name any number. */
const shownResources = 1_000;

/** For how many tokens a process remembers what their accesses have read. */
const knownTokens = 1_000;

/** Judges the lines of all files in the order of their times. */
export class HistoryJudge {
  readonly #isOneClock: boolean;
  readonly #marginMs: number;
  readonly #exclusion: Exclusion<RecordedLock>;
  readonly #tokens: TokenOrder<RecordedLock>;
  readonly #values = new Map<string, ValueChecks>();
  /** The latest lines of the latest resources. */
  readonly #recent = new Map<string, TimelineLine[]>();
  readonly #counts = { locks: 0, accesses: 0, violations: 0 };
  readonly #findings: HistoryFinding[] = [];
  #isUndecided = false;
  #startMs: number | undefined;

  /**
   * @param isOneClock whether all files count time on the monotonic clock of one machine
   * @param marginMs by how much the clocks of two files may differ, in milliseconds
   */
  constructor(isOneClock: boolean, marginMs: number) {
    this.#isOneClock = isOneClock;
    this.#marginMs = marginMs;
    const isBefore = (one: RecordedLock, oneMs: number, other: RecordedLock, otherMs: number): boolean =>
      oneMs + (one.source === other.source ? 0 : marginMs) < otherMs;
    // A holder gives up its lock when either of its clocks says so. Only the wall clock shows that a machine was suspended.
    const isOver = (earlier: RecordedLock, later: RecordedLock): boolean =>
      earlier.heldUntilMs + marginMs < later.grantedAtMs || (isOneClock && earlier.wallUntilMs <= later.wallMs);
    this.#exclusion = new Exclusion(isBefore, isOver);
    this.#tokens = new TokenOrder(isBefore);
  }

  /**
   * Adds a line.
   *
   * @param where its file and number
   * @throws {HistoryError} if it cannot follow those before in its file
   */
  hear(source: Recorded, line: Line, nowMs: number, where: string): void {
    const { locks, accesses } = source;
    this.#startMs ??= nowMs;
    if (line.event === "started") return;
    if (line.event === "acquired") locks.set(line.owner, this.#acquired(source, line, nowMs));
    else if (line.event === "read" || line.event === "write") {
      if (accesses.has(line.id)) throw new HistoryError(`${where} repeats the id of an access without an answer`);
      accesses.set(line.id, this.#called(source, line, line.event, nowMs));
    } else if (line.event === "answered") {
      const access = accesses.get(line.id);
      if (access === undefined) throw new HistoryError(`${where} answers no call`);
      const isRead = access.kind === "read" && line.outcome === "accepted";
      if (isRead && line.value === undefined) throw new HistoryError(`${where} has no value`);
      accesses.delete(line.id);
      this.#answered(access, isRead ? line.value : access.value, line.outcome, nowMs);
    } else {
      const lock = locks.get(line.owner);
      if (lock !== undefined) this.#changed(lock, line, nowMs);
      if (line.event !== "extended") locks.delete(line.owner);
    }
  }

  /** Judges what is left. */
  end(): Judgement {
    this.#foundOverlaps(this.#exclusion.endAll());
    for (const value of this.#values.values()) value.judge(Infinity);
    const openVerdict = this.#isUndecided ? "undecided" : "correct";
    return {
      ...this.#counts,
      verdict: this.#counts.violations > 0 ? "violated" : openVerdict,
      findings: this.#findings,
    };
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
    if (isValid) this.#foundOverlaps(this.#exclusion.grant(lock));
    return lock;
  }

  #changed(lock: RecordedLock, { event, fromMs, fromWallMs, validityMs }: Line, nowMs: number): void {
    const verb = { extended: "extends", lost: "loses" }[event as string] ?? "releases";
    this.#note(lock.source, nowMs, lock.resources, `${verb} its lock with token ${lock.fence}`);
    if (event === "extended") {
      lock.heldUntilMs = (this.#isOneClock ? fromMs : fromWallMs) + validityMs;
      lock.wallUntilMs = fromWallMs + validityMs;
    } else lock.heldUntilMs = Math.min(lock.heldUntilMs, nowMs);
  }

  #called(source: Recorded, line: Line, kind: "read" | "write", invokedAtMs: number): RecordedAccess {
    const { resource, fence, value } = line;
    this.#counts.accesses += 1;
    const known = fence === undefined ? undefined : knownOf(source, `${fence} ${resource}`);
    const basis = kind === "write" && known?.open.size === 0 ? known.value : undefined;
    const access: RecordedAccess = {
      ...{ id: this.#counts.accesses, kind, process: source, resource, fence, value, basis, known },
      ...{ outcome: undefined, invokedAtMs, answeredAtMs: Infinity },
    };
    if (known !== undefined) {
      known.isUnclear = known.open.size > 0;
      // Concurrent accesses under one token may happen in any order, so what a write replaces is not known.
      for (const other of known.open) other.basis = undefined;
      known.open.add(access);
    }
    const token = fence === undefined ? "" : ` with token ${fence}`;
    this.#note(source, invokedAtMs, [resource], `${kind === "read" ? "reads" : `writes ${value}`}${token}`);
    const checks = this.#checksOf(resource);
    checks.add(access, false);
    checks.judge(invokedAtMs);
    return access;
  }

  #answered(access: RecordedAccess, value: string, outcome: Line["outcome"], nowMs: number): void {
    const { kind, process, resource, known } = access;
    Object.assign(access, { value, outcome, answeredAtMs: nowMs });
    if (known !== undefined && (kind === "read" || outcome !== "unknown")) {
      known.open.delete(access);
      if (outcome === "accepted") known.value = known.isUnclear ? undefined : value;
      known.isUnclear &&= known.open.size > 0;
    }
    const isRead = kind === "read" && outcome === "accepted";
    this.#note(process, nowMs, [resource], isRead ? `has read ${value}` : `is answered: ${kind} ${outcome}`);
    const checks = this.#checksOf(resource);
    if (outcome === "accepted") checks.add(access, true);
    checks.judge(nowMs);
  }

  #checksOf(resource: string): ValueChecks {
    const found = this.#values.get(resource);
    const checks = found ?? new ValueChecks(this.#marginMs, (rule, what) => this.#found(rule, resource, what));
    this.#values.set(resource, checks);
    return checks;
  }

  #foundOverlaps(pairs: readonly LockPair<RecordedLock>[]): void {
    for (const { earlier, later } of pairs) {
      const [first, second] = [earlier, later].map(({ source, fence }) => `${source.process} (token ${fence})`);
      const ms = (earlier.heldUntilMs - later.grantedAtMs).toFixed(2);
      const what = `${second} got its lock ${ms} ms before that of ${first} ended`;
      this.#found("exclusion", commonOf(earlier, later), what, [earlier.line, later.line]);
    }
  }

  #foundDisorder({ earlier, later }: LockPair<RecordedLock>): void {
    const what =
      earlier.fence === later.fence
        ? `two locks have the token ${later.fence}`
        : `token ${later.fence} was granted to a request made after the grant of token ${earlier.fence}`;
    this.#found("token order", commonOf(earlier, later), what, [earlier.line, later.line]);
  }

  #found(
    rule: HistoryFinding["rule"],
    resource: string = "",
    what: string,
    involved: readonly TimelineLine[] = [],
  ): void {
    if (rule === "undecided") this.#isUndecided = true;
    else this.#counts.violations += 1;
    if (this.#findings.length >= shownFindings) return;
    const lines = [...new Set([...involved, ...(this.#recent.get(resource) ?? [])])].sort((a, b) => a.atMs - b.atMs);
    const who = rule === "undecided" ? "UNDECIDED" : "VIOLATED";
    const last = { atMs: lines.at(-1)?.atMs ?? 0, who, what: `${rule}: ${what}` };
    this.#findings.push({ rule, resource, what, timeline: [...lines, last] });
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
      this.#recent.delete(resource);
      this.#recent.set(resource, lines);
      const [oldest] = this.#recent.keys();
      if (this.#recent.size > shownResources && oldest !== undefined) this.#recent.delete(oldest);
      if (lines.push(line) > shownLines) lines.shift();
    }
    return line;
  }
}

function knownOf({ known }: Recorded, key: string): Known {
  const found = known.get(key) ?? { open: new Set(), isUnclear: false, value: undefined };
  known.set(key, found);
  const [oldest] = known.keys();
  if (known.size > knownTokens && oldest !== undefined) known.delete(oldest);
  return found;
}
