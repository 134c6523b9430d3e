import { type Access, Register } from "./register.ts";

/** An access, while its file is read. */
export interface RecordedAccess extends Access {
  readonly process: { readonly process: string };
  readonly resource: string;
  answeredAtMs: number;
  value: string;
  basis: string | undefined;
  readonly fence: number | undefined;
  /** Undefined while it is not known. */
  outcome: "accepted" | "refused" | "unknown" | undefined;
}

/** A rule that an access violates, or leaves undecided. */
export type AccessFault =
  | { readonly rule: "stale write"; readonly access: RecordedAccess; readonly newest: RecordedAccess }
  | { readonly rule: "linearizability"; readonly access: RecordedAccess }
  | { readonly rule: "undecided"; readonly access: RecordedAccess };

/** What the accesses under one token show. */
interface Holder {
  pending: number;
  /** Whether some of the pending accesses are concurrent, so that their order is not known. */
  isUnclear: boolean;
  /** The value after the last access, if it is known. */
  value: string | undefined;
}

/** A call or an answer. */
interface QueueEntry {
  readonly atMs: number;
  readonly access: RecordedAccess;
  readonly isAnswer: boolean;
}

/** How many tokens of a value are remembered, to know what their accesses have read. */
const rememberedTokens = 1_000;

/**
 * Checks the accesses to one value. They are judged in the order of their times, as soon as the outcomes of all that were
 * made before are known.
 */
export class ValueChecks {
  readonly #register: Register;
  readonly #marginMs: number;
  readonly #onFault: (fault: AccessFault) => void;
  /** Calls and answers to come, in order. An answer counts once no clock can still show that another call was earlier. */
  readonly #queue: QueueEntry[] = [];
  readonly #holders = new Map<number, Holder>();
  /** The accepted access with the largest token. */
  #newest: RecordedAccess | undefined;
  #isJudged = false;

  /**
   * @param options.maxStates see {@link Register}
   * @param options.marginMs the largest difference between two clocks, in milliseconds
   * @param options.onFault called for each fault. Only the first violation of linearizability is found
   */
  constructor(options: {
    readonly maxStates: number;
    readonly marginMs: number;
    readonly onFault: (fault: AccessFault) => void;
  }) {
    this.#register = new Register(options.maxStates);
    this.#marginMs = options.marginMs;
    this.#onFault = options.onFault;
  }

  /** Adds an access whose outcome will be known later. */
  invoke(access: RecordedAccess): void {
    this.#insert({ atMs: access.invokedAtMs, access, isAnswer: false });
  }

  /** Adds an accepted answer. */
  answer(access: RecordedAccess): void {
    this.#insert({ atMs: access.answeredAtMs + this.#marginMs, access, isAnswer: true });
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

  /** Inserts behind all that is not later. */
  #insert(entry: QueueEntry): void {
    const index = this.#queue.findLastIndex(({ atMs }) => atMs <= entry.atMs);
    this.#queue.splice(index + 1, 0, entry);
  }

  #judgeCall(access: RecordedAccess): void {
    const { kind, outcome, fence } = access;
    const holder = this.#holderOf(fence);
    if (kind === "write" && holder?.pending === 0) access.basis = holder.value;
    const isUncertain = kind === "write" && outcome === "unknown";
    if (outcome !== "accepted" && !isUncertain) return;
    const newest = this.#newest;
    const isStale = fence !== undefined && newest?.fence !== undefined && fence < newest.fence;
    if (kind === "write" && !isUncertain && isStale) this.#onFault({ rule: "stale write", access, newest });
    if (!this.#isJudged) this.#register.invoke(access, !isUncertain);
    if (holder === undefined) return;
    // A write without an answer stays pending: it may happen at any time.
    holder.isUnclear ||= holder.pending > 0;
    holder.pending += 1;
  }

  #judgeAnswer(access: RecordedAccess): void {
    const { fence } = access;
    if (fence !== undefined && fence > (this.#newest?.fence ?? 0)) this.#newest = access;
    const holder = this.#holderOf(fence);
    if (holder !== undefined && holder.pending > 0) {
      holder.pending -= 1;
      holder.value = holder.isUnclear ? undefined : access.value;
      if (holder.pending === 0) holder.isUnclear = false;
    }
    if (this.#isJudged) return;
    const isExplained = this.#register.answer(access);
    if (isExplained === true) return;
    this.#isJudged = true;
    this.#onFault({ rule: isExplained === false ? "linearizability" : "undecided", access });
  }

  #holderOf(fence: number | undefined): Holder | undefined {
    if (fence === undefined) return undefined;
    const holder = this.#holders.get(fence) ?? { pending: 0, isUnclear: false, value: undefined };
    this.#holders.set(fence, holder);
    const [oldest] = this.#holders.keys();
    if (this.#holders.size > rememberedTokens && oldest !== undefined) this.#holders.delete(oldest);
    return holder;
  }
}
