import { type Access, Register } from "./register.ts";

/** What the accesses of a process under one token show. */
export interface Known {
  /** Those without an answer. A write whose outcome is unknown stays open: it may happen at any time. */
  readonly open: Set<RecordedAccess>;
  /** Whether some of them are concurrent, so that their order is not known. */
  isUnclear: boolean;
  /** The value after the last access, if it is known. */
  value: string | undefined;
}

/** An access, while its file is read. */
export interface RecordedAccess extends Access {
  readonly process: { readonly process: string };
  readonly resource: string;
  readonly fence: number | undefined;
  /** Undefined if it has no token. */
  readonly known: Known | undefined;
  answeredAtMs: number;
  value: string;
  basis: string | undefined;
  /** Undefined while it is not known. */
  outcome: "accepted" | "refused" | "unknown" | undefined;
}

/** Receives a rule that accesses to a value violate, or what leaves them undecided. */
type OnFault = (rule: "stale write" | "linearizability" | "undecided", what: string) => void;

/** How many states to search for one answer. */
const statesMax = 100_000;

/**
 * Checks the accesses to one value. They are judged in the order of their times, as soon as the outcomes of all that were
 * made before are known.
 */
export class ValueChecks {
  readonly #marginMs: number;
  readonly #onFault: OnFault;
  /** Calls and answers to come, in order. An answer counts once no clock can still show that another call was earlier. */
  readonly #queue: { readonly atMs: number; readonly access: RecordedAccess; readonly isAnswer: boolean }[] = [];
  /** The accepted access with the largest token. */
  #newest: RecordedAccess | undefined;
  /** Undefined once it has found a violation, or has given up. */
  #register: Register | undefined = new Register(statesMax);

  /**
   * @param marginMs the largest difference between two clocks, in milliseconds
   * @param onFault called for each fault
   */
  constructor(marginMs: number, onFault: OnFault) {
    this.#marginMs = marginMs;
    this.#onFault = onFault;
  }

  /** Adds an access whose outcome will be known later, or an accepted answer. */
  add(access: RecordedAccess, isAnswer: boolean): void {
    const atMs = isAnswer ? access.answeredAtMs + this.#marginMs : access.invokedAtMs;
    const index = this.#queue.findLastIndex((entry) => entry.atMs <= atMs);
    this.#queue.splice(index + 1, 0, { atMs, access, isAnswer });
  }

  /** Judges what happened before this time. */
  judge(untilMs: number): void {
    for (let [next] = this.#queue; next !== undefined && next.atMs < untilMs; [next] = this.#queue) {
      if (next.access.outcome === undefined) return;
      this.#queue.shift();
      if (next.isAnswer) this.#judgeAnswer(next.access);
      else this.#judgeCall(next.access);
    }
  }

  #judgeCall(access: RecordedAccess): void {
    const { kind, outcome, fence } = access;
    const isWrite = kind === "write";
    if (isWrite && outcome === "unknown") this.#register?.invoke(access, false);
    if (outcome !== "accepted") return;
    const { kind: newerKind, fence: newest = 0 } = this.#newest ?? {};
    if (isWrite && fence !== undefined && fence < newest) {
      const what = `a write with token ${fence} was accepted after a ${newerKind} with token ${newest}`;
      this.#onFault("stale write", what);
    }
    this.#register?.invoke(access, true);
  }

  #judgeAnswer(access: RecordedAccess): void {
    const { kind, value, basis, process, fence = 0 } = access;
    if (fence > (this.#newest?.fence ?? 0)) this.#newest = access;
    const isExplained = this.#register === undefined || this.#register.answer(access);
    if (isExplained) return;
    this.#register = undefined;
    const lost = `${process.process} wrote ${value} over a value other than the ${basis} that it had seen`;
    const isUpdate = kind === "write" && basis !== undefined;
    const unexplained = `no order of the accesses explains that ${process.process} has read ${value}`;
    if (isExplained === false) this.#onFault("linearizability", isUpdate ? lost : unexplained);
    else this.#onFault("undecided", `more than ${statesMax} orders are possible when ${process.process} is answered`);
  }
}
