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
  /** Of those that are held back. */
  readonly #pauses: Pause[] = [];

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

  /** Waits for a question to come to its end, or until the signal aborts. */
  async turn(signal?: AbortSignal): Promise<void> {
    const pause = new Pause(this.ensemble.clock);
    this.#pauses.push(pause);
    await pause.wait(Infinity, signal);
  }

  /** An attempt or a release begins. */
  beginQuestion(): void {
    this.#questions += 1;
  }

  /** It has come to its end. */
  endQuestion(): void {
    this.#questions -= 1;
    this.passTurn();
  }

  /** Gives its turn to who has waited longest, if there is one to give. */
  passTurn(): void {
    if (this.isCrowded) return;
    let next = this.#pauses.shift();
    while (next?.isWaiting === false) next = this.#pauses.shift();
    next?.wake();
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
