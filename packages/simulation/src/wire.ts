import type { Network } from "./network.ts";

/** One direction of a connection. */
export class Wire {
  readonly #network: Network;
  #lastArrivalMs = 0;

  /** @param network whether it keeps the order, and hears that something is on the way */
  constructor(network: Network) {
    this.#network = network;
  }

  /**
   * Takes a message.
   *
   * @param overtakes whether it may come before those that were sent earlier, also where the order is kept
   * @returns when it arrives: after its delay, or with the message before it
   */
  carry(departsMs: number, delayMs: number, overtakes = false): number {
    const keepsOrder = this.#network.keepsOrder && !overtakes;
    const atMs = Math.max(departsMs + delayMs, keepsOrder ? this.#lastArrivalMs : 0);
    if (keepsOrder) this.#lastArrivalMs = atMs;
    this.#network.carriesUntil(atMs);
    return atMs;
  }
}
