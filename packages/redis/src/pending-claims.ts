import { timerMaxMs } from "@holdfast/core/node";
import type { RedisConnection } from "./connection.ts";
import { type EncodedCall, giveUp } from "./encoding.ts";
import { isClaimOf, type Operation } from "./operation.ts";

/** How often to check whether the connection of a claim that was given up is lost. */
const lossCheckMs = 1_000;

/** The shortest time between two checks, because a server may leave hundreds of claims unanswered. */
const checkPauseMs = 5;

/**
 * The claims of one node that the server has not answered, by call. None of them is sent, or resent, after core has given it
 * up.
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
  /** The calls with claims: a Map that changes constantly costs more garbage collection than all else that a call does. */
  readonly #calls: EncodedCall[] = [];
  /** How many of the claims have owners with each hash. A release looks through the calls only if there are any. */
  readonly #counts = new Uint32Array(hashes);
  #timer: NodeJS.Timeout | undefined;
  #nextCheckMs = Infinity;

  constructor(connection: Pick<RedisConnection, "isReady" | "settlesInTime">) {
    this.#connection = connection;
  }

  /** Adds a call that is sent now. The timeouts of its claims start, unless they were sent before. */
  add(call: EncodedCall): void {
    const { operations } = call;
    const nowMs = performance.now();
    let firstEndMs = Infinity;
    for (let index = 0; index < operations.length; index++) {
      const operation = operations[index] as Operation;
      operation.endMs ??= nowMs + operation.timeoutMs;
      if (operation.endMs < firstEndMs) firstEndMs = operation.endMs;
      const hash = hashOf(operation.record.owner);
      if (operation.record.isClaim) this.#counts[hash] = (this.#counts[hash] as number) + 1;
    }
    call.position = this.#calls.push(call) - 1;
    if (firstEndMs < this.#nextCheckMs) this.#checkAt(firstEndMs, nowMs);
  }

  /** Removes a call that was answered or has failed. */
  remove(call: EncodedCall): void {
    for (const { record } of call.operations) {
      const hash = hashOf(record.owner);
      if (record.isClaim) this.#counts[hash] = (this.#counts[hash] as number) - 1;
    }
    const last = this.#calls.pop() as EncodedCall;
    if (last === call) return;
    last.position = call.position;
    this.#calls[call.position] = last;
  }

  /** Gives up all claims of an owner. */
  giveUp(owner: string): void {
    if (this.#counts[hashOf(owner)] === 0) return;
    for (const call of this.#calls) {
      for (const operation of call.operations) {
        if (!isClaimOf(operation, owner) || operation.isGivenUp) continue;
        this.#abandon(call, operation);
        const nowMs = performance.now();
        this.#checkAt(nowMs + lossCheckMs, nowMs);
      }
    }
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
    for (const call of this.#calls) {
      for (const operation of call.operations) {
        const { record, endMs = Infinity } = operation;
        if (!record.isClaim) continue;
        if (operation.isGivenUp) this.#rejectIfLost(operation);
        else if (endMs <= nowMs) this.#abandon(call, operation);
        nextMs = Math.min(nextMs, operation.isGivenUp ? nowMs + lossCheckMs : endMs);
      }
    }
    this.#checkAt(nextMs, nowMs);
  };

  #rejectIfLost({ record, reject }: Operation): void {
    if (this.#connection.settlesInTime || this.#connection.isReady(record.key)) return;
    reject(new Error("the connection was lost before the reply arrived"));
  }

  #abandon(call: EncodedCall, operation: Operation): void {
    giveUp(operation, call);
    this.#rejectIfLost(operation);
  }
}

/** How many hashes owners have: far more than owners usually have unanswered claims. */
const hashes = 4_096;

/** Hashes three characters that are random in core's owners, which begin with a label and end with an epoch. */
function hashOf(owner: string): number {
  const at = owner.length - 10;
  return ((owner.charCodeAt(at) * 31 + owner.charCodeAt(at + 1)) * 31 + owner.charCodeAt(at + 2)) & (hashes - 1);
}
