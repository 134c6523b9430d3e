/**
 * Proposes fencing tokens: the wall clock in microseconds, or one more than the highest that was seen. When the
 * proposal is ahead of the counters of all nodes, they all grant just that, however far they had drifted apart, and
 * one round trip is enough. Nothing rests on it: counters only ever go up from what a node has.
 */
export class FenceHint {
  #highest = 0;

  /** @param wallMs what the wall clock shows */
  next(wallMs: number): number {
    return Math.min(Number.MAX_SAFE_INTEGER, Math.max(Math.floor(wallMs * 1000), this.#highest + 1));
  }

  saw(fence: number): void {
    this.#highest = Math.max(this.#highest, fence);
  }
}
