import type { RedisConnection } from "./connection.ts";
import { timerMsMax } from "./deadline.ts";
import type { Operation } from "./operation.ts";

/** How often a claim that was given up is checked for whether its connection was lost. */
const lossCheckMs = 1_000;

/** The shortest time between two checks, as a server may leave hundreds of claims unanswered. */
const checkPauseMs = 5;

/** How many owners whose `acquire` was never sent are remembered, at the least. */
const unsentMax = 256;

/**
 * The claims of one node that the server has not answered: makes sure that none is sent, or sent again, after core has
 * given it up.
 *
 * Clients keep commands for later in many ways: while they are not connected, while the socket is full, to send them again
 * after a reconnection, or to another server of a cluster. None of them lets a user take a command back for certain. But all
 * of them turn a command into bytes only when they write it to the socket. So to give up a claim is to strike it out of what
 * is to be written: sent from then on, it does nothing.
 *
 * A claim that was given up still waits for its answer, which core wants to know, but no longer than its connection lasts: some
 * clients keep a command until there is another connection, which may be never. While there is a connection, an answer that has
 * arrived may be waiting for its turn.
 *
 * One timer serves all claims. It keeps no process alive: the client does, as long as it is connected or tries to be.
 */
export class PendingClaims {
  readonly #connection: Pick<RedisConnection, "isReady" | "settlesInTime">;
  readonly #onUnsent: () => void;
  // Linked lists, by a hash of the owner: a Map that changes all the time costs the garbage collector more than all else that a
  // claim does.
  readonly #buckets = new Array<Operation | undefined>(hashes).fill(undefined);
  #timer: NodeJS.Timeout | undefined;
  #timerEndMs = Infinity;
  // Two generations: nobody says when an owner is not asked about any more.
  #unsent = new Set<string>();
  #unsentBefore = new Set<string>();

  /** @param onUnsent called when a claim was given up that has not been sent */
  constructor(connection: Pick<RedisConnection, "isReady" | "settlesInTime">, onUnsent: () => void) {
    this.#connection = connection;
    this.#onUnsent = onUnsent;
  }

  /** Adds a claim, now on the clock of `performance.now()`. */
  add(claim: Operation, nowMs: number): void {
    const owner = claim.owner as string;
    const hash = hashOf(owner);
    const first = this.#buckets[hash];
    claim.ownerHash = hash;
    claim.later = first;
    if (first) first.earlier = claim;
    this.#buckets[hash] = claim;
    if (this.#unsent.size > 0 || this.#unsentBefore.size > 0) {
      this.#unsent.delete(owner);
      this.#unsentBefore.delete(owner);
    }
    if (claim.endMs < this.#timerEndMs) this.#checkAt(claim.endMs, nowMs);
  }

  /** Removes a claim that was answered, or has failed. */
  remove(claim: Operation): void {
    const { earlier, later } = claim;
    if (earlier) earlier.later = later;
    else this.#buckets[claim.ownerHash] = later;
    if (later) later.earlier = earlier;
    claim.earlier = undefined;
    claim.later = undefined;
  }

  /** Notes that the owner's `acquire` was refused instead of being added. */
  refuse(owner: string): void {
    if (this.#unsent.size === unsentMax) {
      this.#unsentBefore = this.#unsent;
      this.#unsent = new Set();
    }
    this.#unsent.add(owner);
  }

  /**
   * Gives up all claims of the owner.
   *
   * @returns whether the owner's `acquire` was never sent, nor anything else of it since, as far as is remembered
   */
  giveUp(owner: string): boolean {
    for (let claim = this.#buckets[hashOf(owner)]; claim; claim = claim.later) {
      if (claim.owner !== owner || claim.isGivenUp) continue;
      this.#abandon(claim);
      const nowMs = performance.now();
      this.#checkAt(nowMs + lossCheckMs, nowMs);
    }
    return this.#unsent.has(owner) || this.#unsentBefore.has(owner);
  }

  #checkAt(endMs: number, nowMs: number): void {
    if (endMs >= this.#timerEndMs) return;
    clearTimeout(this.#timer);
    this.#timerEndMs = endMs;
    const delayMs = Math.max(checkPauseMs, Math.ceil(endMs - nowMs));
    // After a stall, the client first writes what was sent in time.
    this.#timer = setTimeout(() => setImmediate(this.#check), Math.min(delayMs, timerMsMax)).unref();
  }

  readonly #check = (): void => {
    const nowMs = performance.now();
    let nextMs = Infinity;
    this.#timerEndMs = Infinity;
    for (const first of this.#buckets) {
      for (let claim = first; claim; claim = claim.later) {
        if (claim.isGivenUp) this.#rejectIfLost(claim);
        else if (claim.endMs <= nowMs) this.#abandon(claim);
        nextMs = Math.min(nextMs, claim.isGivenUp ? nowMs + lossCheckMs : claim.endMs);
      }
    }
    this.#checkAt(nextMs, nowMs);
  };

  #rejectIfLost(claim: Operation): void {
    if (this.#connection.settlesInTime || this.#connection.isReady(claim.record.keys[0] as string)) return;
    claim.reject(new Error("the connection was lost before the answer came"));
  }

  #abandon(claim: Operation): void {
    claim.giveUp();
    if (claim.call !== undefined) {
      this.#rejectIfLost(claim);
      return;
    }
    if (claim.record.name === "acquire") this.refuse(claim.owner as string);
    this.#onUnsent();
  }
}

const hashes = 1024;

/** Most owners end in random characters. */
function hashOf(owner: string): number {
  const end = owner.length;
  return (owner.charCodeAt(end - 1) + 31 * owner.charCodeAt(end - 2) + 961 * owner.charCodeAt(end - 3)) & (hashes - 1);
}
