/** One read or write of a value. */
export interface Access {
  /** Distinguishes it from all others. */
  readonly id: number;
  readonly kind: "read" | "write";
  /** The process that made it. */
  readonly process: unknown;
  /** When it was made, and answered, in milliseconds. */
  readonly invokedAtMs: number;
  readonly answeredAtMs: number;
  /** The value that was read or written. */
  readonly value: string;
  /** If it is a write: the value that it replaces, if the history shows it. */
  readonly basis?: string | undefined;
}

/** An outcome of the accesses so far, in one of their possible orders. */
interface State {
  /** The value; undefined if nothing shows the first one. */
  readonly value: string | undefined;
  /** The accesses that have happened although their answer is not known yet, and writes that are never answered. */
  readonly done: ReadonlySet<Access>;
}

/**
 * Decides whether accesses are linearizable: whether one order of them explains all answers, and has each of them between
 * its call and its answer.
 *
 * The search of Wing and Gong (1993) tries the possible orders; states that it has seen are not searched again, as Lowe
 * (2017) suggests. It proceeds with the answers, and keeps only the states that explain all of them, so its memory depends
 * on the accesses at the same time, and not on the length of the history.
 */
export class Register {
  readonly #maxStates: number;
  readonly #pending = new Set<Access>();
  /** Writes that are never answered. One happens only when another access needs its value: otherwise nobody can tell. */
  readonly #uncertain = new Set<Access>();
  #states: readonly State[] = [{ value: undefined, done: new Set() }];

  /** @param maxStates how many states to search for one answer */
  constructor(maxStates: number) {
    this.#maxStates = maxStates;
  }

  /** Adds an access, in the order of calls and answers. */
  invoke(access: Access, isAnswered: boolean): void {
    (isAnswered ? this.#pending : this.#uncertain).add(access);
  }

  /** Answers an access. Returns whether an order explains this and all earlier answers, or undefined if it gives up. */
  answer(access: Access): boolean | undefined {
    const next = new Map<string, State>();
    const seen = new Map(this.#states.map((state) => [keyOf(state), state]));
    const open = [...this.#states];
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      if (state.done.has(access)) {
        const rest = { value: state.value, done: new Set([...state.done].filter((other) => other !== access)) };
        next.set(keyOf(rest), rest);
        continue;
      }
      for (const other of this.#pending) {
        const after = this.#after(state, other);
        if (after === undefined || seen.has(keyOf(after))) continue;
        seen.set(keyOf(after), after);
        open.push(after);
      }
      if (seen.size > this.#maxStates) return undefined;
    }
    this.#pending.delete(access);
    this.#states = [...next.values()];
    return this.#states.length > 0;
  }

  /** Returns the state after one more access; undefined if that cannot be next. */
  #after({ value, done }: State, access: Access): State | undefined {
    if (done.has(access)) return undefined;
    for (const other of this.#pending) {
      const isBefore = other.process === access.process && other.answeredAtMs < access.invokedAtMs;
      if (isBefore && !done.has(other)) return undefined;
    }
    const needed = access.kind === "read" ? access.value : access.basis;
    const isThere = needed === undefined || value === undefined || value === needed;
    if (isThere) return { value: access.value, done: new Set([...done, access]) };
    for (const write of this.#uncertain) {
      const mayExplain = write.value === needed && !done.has(write);
      if (mayExplain) return { value: access.value, done: new Set([...done, write, access]) };
    }
    return undefined;
  }
}

function keyOf({ value, done }: State): string {
  const ids = Array.from(done, ({ id }) => id).sort((a, b) => a - b);
  return `${ids} ${value ?? ""}${value === undefined ? "?" : "="}`;
}
