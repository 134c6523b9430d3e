import { noAnswers } from "../answers.ts";
import type { Ensemble } from "../claim.ts";
import { QueueFullError } from "../errors.ts";
import { failureOf } from "../outcome.ts";
import { Pause } from "../pause.ts";
import { Line } from "./line.ts";
import type { Place } from "./place.ts";

/** How long this process listens to rivals after it has last held or wanted the resource, in milliseconds. */
const listenMs = 1000;

/**
 * How many attempts and releases may be under way before others are held back. The deadline of a node begins with the
 * question: of a thousand at once, this process alone could not put all in time, and all would fail, again and again.
 */
const questionsMax = 128;

/** The lines of one `Redlock`: for each resource that somebody in this process wants or holds. */
export class WaitQueue {
  readonly ensemble: Ensemble;
  readonly #maxWaiters: number;
  readonly #lines = new Map<string, Line>();
  #size = 0;
  #questions = 0;
  /** Those that are held back. */
  readonly #turns: { readonly pause: Pause; hasCome: boolean }[] = [];

  /**
   * @param ensemble the nodes
   * @param maxWaiters how many may wait
   */
  constructor(ensemble: Ensemble, maxWaiters: number) {
    this.ensemble = ensemble;
    this.#maxWaiters = maxWaiters;
  }

  /**
   * One more waits.
   *
   * @throws {QueueFullError}
   */
  admit(place: Place): void {
    if (this.#size >= this.#maxWaiters) {
      const remark = `${this.#size} calls are under way, as many as maxWaiters`;
      throw new QueueFullError(...failureOf("lock", place, noAnswers, remark));
    }
    this.#size += 1;
  }

  /** One waits no longer. */
  dismiss(): void {
    this.#size -= 1;
  }

  /** Whether whoever has a question for the nodes should wait for its turn. */
  get isCrowded(): boolean {
    return this.#questions >= questionsMax;
  }

  /** An attempt or a release begins without waiting for its turn. */
  beginQuestion(): void {
    this.#questions += 1;
  }

  /**
   * Waits for another question to come to its end, but no longer than that, or until the signal aborts.
   *
   * @returns whether its own has begun instead
   */
  async turn(delayMs: number, signal?: AbortSignal): Promise<boolean> {
    const turn = { pause: new Pause(this.ensemble.clock), hasCome: false };
    this.#turns.push(turn);
    await turn.pause.wait(delayMs, signal);
    return turn.hasCome;
  }

  /** A question has come to its end: that of who has waited longest begins, so that nobody else comes between. */
  endQuestion(): void {
    this.#questions -= 1;
    while (!this.isCrowded) {
      const next = this.#turns.shift();
      if (next === undefined) return;
      if (!next.pause.isWaiting) continue;
      next.hasCome = true;
      this.beginQuestion();
      next.pause.wake();
    }
  }

  /** The lines of some resources, which stay the same until everybody who came has left. */
  join(resources: readonly string[]): readonly Line[] {
    return resources.map((resource) => {
      const line = this.#lines.get(resource) ?? new Line(resource);
      this.#lines.set(resource, line);
      line.places += 1;
      line.keep?.();
      return line;
    });
  }

  /** Forgets lines that nobody is in: later, if others want the resource, as it may soon be wanted here again. */
  quit(lines: readonly Line[]): void {
    for (const line of lines) {
      line.places -= 1;
      if (line.places > 0) continue;
      const { resource, rivals } = line;
      const forget = () => {
        rivals?.stop();
        this.#lines.delete(resource);
      };
      if (rivals === undefined) forget();
      else line.keep = this.ensemble.clock.startTimer(listenMs, forget, { background: true });
    }
  }
}
