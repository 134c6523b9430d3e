/** Measures the longest stretch of time for which something is so. */
export class Stretch {
  #longestMs = 0;
  #sinceMs: number | undefined;

  /** How long the longest of those lasted that are over, in milliseconds. */
  get longestMs(): number {
    return this.#longestMs;
  }

  /** From now on it is so, or not. */
  set(isSo: boolean, nowMs: number): void {
    if (isSo === (this.#sinceMs !== undefined)) return;
    if (this.#sinceMs !== undefined) this.#longestMs = Math.max(this.#longestMs, nowMs - this.#sinceMs);
    this.#sinceMs = isSo ? nowMs : undefined;
  }
}
