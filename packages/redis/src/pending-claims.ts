import { timerMaxMs } from "@holdfast/core/node";
import type { RedisConnection } from "./connection.ts";
import type { Operation, OperationRecord } from "./operation.ts";

/** How often to check whether the connection of a claim that was given up is lost. */
const lossCheckMs = 1_000;

/** The shortest time between two checks, because a server may leave hundreds of claims unanswered. */
const checkPauseMs = 5;

/**
 * The claims of one node that the server has not answered. None of them is sent, or resent, after core has given it up.
 *
 * Clients keep commands for later in many ways: while they are not connected, while the socket is full, to resend them
 * after a reconnection, or to redirect them to another server of a cluster. No client can reliably take a command back.
 * But all of them encode a command only when they write it to the socket. To give up a claim is therefore to strike it
 * out of the arguments: if it is sent later, it does nothing.
 *
 * A claim that was given up still waits for its answer, which core wants to know, but only while its connection lasts:
 * some clients keep a command until they are connected again, which may never happen. While the connection lasts, an
 * answer that was received may still be waiting to be processed.
 *
 * One timer serves all claims. It does not keep the process alive: the client does, while it is connected or
 * reconnecting.
 */
export class PendingClaims {
  readonly #connection: Pick<RedisConnection, "isReady" | "settlesInTime">;
  // Linked lists, by a hash of the owner: a Map that changes constantly costs more garbage collection than everything
  // else that a claim does.
  readonly #buckets = new Array<Operation | undefined>(hashes).fill(undefined);
  #timer: NodeJS.Timeout | undefined;
  #nextCheckMs = Infinity;

  constructor(connection: Pick<RedisConnection, "isReady" | "settlesInTime">) {
    this.#connection = connection;
  }

  /** Adds a claim that is about to be sent. */
  add(claim: Operation): void {
    const { ownerHash } = claim.record;
    const first = this.#buckets[ownerHash];
    claim.later = first;
    if (first) first.earlier = claim;
    this.#buckets[ownerHash] = claim;
  }

  /** Removes a claim that was answered or has failed. */
  remove(claim: Operation): void {
    const { earlier, later } = claim;
    if (earlier) earlier.later = later;
    else this.#buckets[claim.record.ownerHash] = later;
    if (later) later.earlier = earlier;
    claim.earlier = undefined;
    claim.later = undefined;
  }

  /** Gives up all claims of the owner of a release. */
  giveUpBefore({ owner, ownerHash }: OperationRecord): void {
    for (let claim = this.#buckets[ownerHash]; claim; claim = claim.later) {
      if (claim.record.owner !== owner || claim.isGivenUp) continue;
      this.#abandon(claim);
      const nowMs = performance.now();
      this.#checkAt(nowMs + lossCheckMs, nowMs);
    }
  }

  /** Starts the timeouts of operations, which are sent now. */
  startTimeouts(operations: readonly Operation[]): void {
    const nowMs = performance.now();
    let firstEndMs = Infinity;
    for (const operation of operations) {
      operation.endMs = nowMs + operation.timeoutMs;
      if (operation.endMs < firstEndMs) firstEndMs = operation.endMs;
    }
    if (firstEndMs < this.#nextCheckMs) this.#checkAt(firstEndMs, nowMs);
  }

  #checkAt(endMs: number, nowMs: number): void {
    if (endMs >= this.#nextCheckMs) return;
    clearTimeout(this.#timer);
    this.#nextCheckMs = endMs;
    const delayMs = Math.max(checkPauseMs, Math.ceil(endMs - nowMs));
    // After a stall, the client first writes the commands that were sent in time.
    this.#timer = setTimeout(() => setImmediate(this.#check), Math.min(delayMs, timerMaxMs)).unref();
  }

  readonly #check = (): void => {
    const nowMs = performance.now();
    let nextMs = Infinity;
    this.#nextCheckMs = Infinity;
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
    if (this.#connection.settlesInTime || this.#connection.isReady(claim.record.key)) return;
    claim.reject(new Error("the connection was lost before the reply arrived"));
  }

  #abandon(claim: Operation): void {
    giveUp(claim);
    if (claim.call !== undefined) this.#rejectIfLost(claim);
  }
}

/** Gives up an operation: it has no effect unless it is already written to the socket. */
export function giveUp(operation: Operation): void {
  operation.isGivenUp = true;
  operation.call?.strikeOut(operation);
}

const hashes = 1024;

/** Returns the hash of an owner. Most owners end in random characters. */
export function hashOf(owner: string): number {
  const end = owner.length;
  return (owner.charCodeAt(end - 1) + 31 * owner.charCodeAt(end - 2) + 961 * owner.charCodeAt(end - 3)) & (hashes - 1);
}
