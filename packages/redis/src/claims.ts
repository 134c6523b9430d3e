import type { RedisConnection } from "./connection.ts";
import type { Claim } from "./operation.ts";

/** The claims of one node that have not been answered. */
export interface Claims {
  /** Begins one, now on the clock of `performance.now()`. */
  open(claim: Claim, nowMs: number): void;
  /** Ends one: it was answered. */
  close(claim: Claim): void;
  /** Gives up all of the owner's. */
  giveUp(owner: string): void;
}

/** The longest time that a timer can be set to. */
export const timerMsMax: number = 2 ** 31 - 1;

/** How often it is looked whether the connection is still there that a claim was sent over which has been given up. */
const lossCheckMs = 1_000;

/**
 * Makes sure that a claim is not sent, or not sent again, after core has given it up.
 *
 * Clients keep commands for later in many ways: while they are not connected, while the socket is full, to send them
 * again after a reconnection, or to another server of a cluster. None of them lets a user take a command back for
 * certain. But all of them turn a command into bytes only at the moment when they write it to the socket. So giving a
 * claim up means to change what is to be written: sent from then on, it does nothing.
 *
 * A claim that was given up still waits for its answer, which core wants to know, but no longer than its connection lasts:
 * some clients keep a command until there is another connection, which may be never. As long as there is one, it is
 * too early to say so: an answer that has arrived may be waiting for its turn.
 *
 * One timer serves all claims. It keeps no process alive: the client does, as long as it is connected or tries to be.
 */
export function createClaims(connection: Pick<RedisConnection, "isReady" | "settlesInTime">): Claims {
  const byOwner = new Map<string, Claim[]>();
  const givenUp = new Set<Claim>();
  let timer: NodeJS.Timeout | undefined;
  let timerEndMs = Infinity;

  const wakeAt = (endMs: number, nowMs: number): void => {
    if (endMs >= timerEndMs) return;
    clearTimeout(timer);
    timerEndMs = endMs;
    timer = setTimeout(look, Math.min(Math.ceil(endMs - nowMs), timerMsMax)).unref();
  };
  const look = (): void => {
    const nowMs = performance.now();
    timerEndMs = Infinity;
    for (const claim of givenUp) rejectIfLost(claim);
    let nextMs = givenUp.size > 0 ? nowMs + lossCheckMs : Infinity;
    for (const claims of byOwner.values()) {
      for (const claim of claims.slice()) {
        if (claim.endMs <= nowMs) revoke(claim, nowMs);
        else nextMs = Math.min(nextMs, claim.endMs);
      }
    }
    wakeAt(nextMs, nowMs);
  };
  const rejectIfLost = (claim: Claim): void => {
    if (connection.isReady(claim.phrase.keys.list[0] as string)) return;
    claim.reject(new Error("the connection was lost before the answer came"));
  };
  const forget = (claim: Claim): void => {
    const claims = byOwner.get(claim.owner);
    if (claims === undefined) return;
    if (claims.length === 1) byOwner.delete(claim.owner);
    else claims.splice(claims.indexOf(claim), 1);
  };
  const revoke = (claim: Claim, nowMs: number): void => {
    forget(claim);
    claim.isGivenUp = true;
    claim.flight?.call.revoke(claim.flight.operations.indexOf(claim));
    if (connection.settlesInTime) return;
    givenUp.add(claim);
    rejectIfLost(claim);
    wakeAt(nowMs + lossCheckMs, nowMs);
  };
  return {
    open(claim, nowMs) {
      const claims = byOwner.get(claim.owner);
      if (claims === undefined) byOwner.set(claim.owner, [claim]);
      else claims.push(claim);
      wakeAt(claim.endMs, nowMs);
    },
    close(claim) {
      if (claim.isGivenUp) givenUp.delete(claim);
      else forget(claim);
    },
    giveUp(owner) {
      for (const claim of byOwner.get(owner)?.slice() ?? []) revoke(claim, performance.now());
    },
  };
}
