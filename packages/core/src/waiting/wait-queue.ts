import { noAnswers } from "../answers.ts";
import type { Ensemble } from "../claim.ts";
import { QueueFullError } from "../errors.ts";
import { failureOf } from "../outcome.ts";
import { Line } from "./line.ts";
import type { Place } from "./place.ts";

/** How long this process listens to rivals after it has last held or wanted the resource, in milliseconds. */
const listenMs = 1000;

/** The lines of one `Redlock`: for each resource that somebody in this process wants or holds. */
export class WaitQueue {
  readonly ensemble: Ensemble;
  readonly #maxWaiters: number;
  readonly #lines = new Map<string, Line>();
  #size = 0;

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
