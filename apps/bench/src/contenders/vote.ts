/** Counts what servers answer: it is over at the quorum-th yes, or as soon as there cannot be one any more. */
export class Vote {
  #granted = 0;
  #refused = 0;
  readonly #quorum: number;
  readonly #refusedMax: number;
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;

  constructor(servers: number, quorum: number, resolve: () => void, reject: (error: Error) => void) {
    this.#quorum = quorum;
    this.#refusedMax = servers - quorum;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  hear(isYes: boolean): void {
    if (isYes) {
      if (++this.#granted === this.#quorum) this.#resolve();
    } else if (++this.#refused > this.#refusedMax) this.#reject(new Error("no quorum"));
  }
}
