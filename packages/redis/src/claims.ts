import type { RedisConnection } from "./connection.ts";
import { timerMsMax } from "./deadline.ts";
import { type Claim, revoke } from "./operation.ts";
import { acquireReader } from "./replies.ts";

/** The claims of one node that have not been answered. */
export interface Claims {
  /** Begins one, now on the clock of `performance.now()`. */
  open(claim: Claim, nowMs: number): void;
  /** Ends so many, which say so: they were answered. */
  close(count: number): void;
  /** Notes that the owner's `acquire` was refused instead of being opened. */
  refuse(owner: string): void;
  /**
   * Gives up all of the owner's.
   *
   * @returns whether the owner's `acquire` was never sent, nor anything else of it since, as far as is remembered
   */
  giveUp(owner: string): boolean;
}

/** How often it is looked whether the connection is still there that a claim was sent over which has been given up. */
const lossCheckMs = 1_000;

/** How long it takes at least until claims are looked through again, as there may be thousands that a server leaves open. */
const lookPauseMs = 5;

/** How many claims that have ended may be kept, beside as many as are open. */
const endedMax = 32;

/** How many owners whose `acquire` was never sent are remembered, at the least. */
const unsentMax = 256;

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
 *
 * @param onUnsent is called when a claim was given up that has not been sent
 */
export function createClaims(
  connection: Pick<RedisConnection, "isReady" | "settlesInTime">,
  onUnsent: () => void,
): Claims {
  // Claims are not deleted one by one: a Map that is changed all the time makes V8 keep what was in it until the next major
  // collection of garbage, which then is most of what a claim costs. It is replaced instead, before much has ended.
  let byOwner = new Map<string, Claim>();
  let kept = 0;
  let open = 0;
  let timer: NodeJS.Timeout | undefined;
  let timerEndMs = Infinity;
  // Two generations: nobody says when an owner will not be asked about any more.
  let unsent = new Set<string>();
  let unsentBefore = new Set<string>();

  const refuse = (owner: string): void => {
    if (unsent.size === unsentMax) {
      unsentBefore = unsent;
      unsent = new Set();
    }
    unsent.add(owner);
  };
  const keep = (claim: Claim): void => {
    claim.sibling = byOwner.get(claim.owner);
    byOwner.set(claim.owner, claim);
    kept += 1;
  };
  const openClaims = (): Claim[] => {
    const claims: Claim[] = [];
    for (const last of byOwner.values()) {
      for (let claim: Claim | undefined = last; claim; claim = claim.sibling) if (!claim.hasEnded) claims.push(claim);
    }
    return claims;
  };
  const forgetEnded = (): void => {
    const claims = openClaims();
    byOwner = new Map();
    kept = 0;
    for (const claim of claims) keep(claim);
  };
  const lookAt = (endMs: number, nowMs: number): void => {
    if (endMs >= timerEndMs) return;
    clearTimeout(timer);
    timerEndMs = endMs;
    const delayMs = Math.max(lookPauseMs, Math.ceil(endMs - nowMs));
    // A process that stood still lets the client write first what has left in time.
    timer = setTimeout(() => setImmediate(look), Math.min(delayMs, timerMsMax)).unref();
  };
  const look = (): void => {
    const nowMs = performance.now();
    let nextMs = Infinity;
    timerEndMs = Infinity;
    for (const claim of openClaims()) {
      if (claim.isGivenUp) rejectIfLost(claim);
      else if (claim.endMs <= nowMs) abandon(claim);
      nextMs = Math.min(nextMs, claim.isGivenUp ? nowMs + lossCheckMs : claim.endMs);
    }
    lookAt(nextMs, nowMs);
  };
  const rejectIfLost = (claim: Claim): void => {
    if (connection.settlesInTime || connection.isReady(claim.phrase.keys[0] as string)) return;
    claim.reject(new Error("the connection was lost before the answer came"));
  };
  const abandon = (claim: Claim): void => {
    revoke(claim);
    if (claim.flight === undefined) {
      if (claim.reader === acquireReader) refuse(claim.owner);
      onUnsent();
    } else rejectIfLost(claim);
  };
  return {
    open(claim, nowMs) {
      keep(claim);
      unsent.delete(claim.owner);
      unsentBefore.delete(claim.owner);
      open += 1;
      lookAt(claim.endMs, nowMs);
    },
    close(count) {
      open -= count;
      if (kept > 2 * open + endedMax) forgetEnded();
    },
    refuse,
    giveUp(owner) {
      for (let claim = byOwner.get(owner); claim; claim = claim.sibling) {
        if (claim.hasEnded || claim.isGivenUp) continue;
        abandon(claim);
        const nowMs = performance.now();
        lookAt(nowMs + lossCheckMs, nowMs);
      }
      return unsent.has(owner) || unsentBefore.has(owner);
    },
  };
}
