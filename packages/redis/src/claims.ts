/** One `acquire` or `extend` that was handed to the client and has not been answered. */
export interface Claim {
  readonly owner: string;
  /** The argument that makes the script claim something, as long as the claim is not given up. */
  readonly verb: Buffer;
  /** When it is given up, on the clock of `performance.now()`. */
  readonly endMs: number;
  /** Whether it must not be sent any more. */
  isGivenUp: boolean;
  /** Called when it is given up. */
  onGivenUp?: () => void;
  /** What it waits for: the moment at which it is given up, and then the next look at the connection. */
  timer?: NodeJS.Timeout;
}

/** The claims of one node that have not been answered. */
export interface Claims {
  /** Begins one, which is given up when `timeoutMs` have passed. */
  open(verb: "acquire" | "extend", owner: string, timeoutMs: number): Claim;
  /** Ends one: it was answered. */
  close(claim: Claim): void;
  /** Gives up all of the owner's. */
  giveUp(owner: string): void;
}

/** The longest time that a timer can be set to. */
export const timerMsMax: number = 2 ** 31 - 1;

/**
 * Makes sure that a claim is not sent, or not sent again, after core has given it up.
 *
 * Clients keep commands for later in many ways: while they are not connected, while the socket is full, to send them
 * again after a reconnection, or to another server of a cluster. None of them lets a user take a command back for
 * certain. But all of them turn a command into bytes only at the moment when they write it to the socket. So the verb of
 * a claim is a buffer, and giving the claim up means to overwrite it: sent from then on, the command does nothing.
 */
export function createClaims(): Claims {
  const byOwner = new Map<string, Set<Claim>>();

  const end = (claim: Claim): void => {
    clearTimeout(claim.timer);
    const claims = byOwner.get(claim.owner);
    claims?.delete(claim);
    if (claims?.size === 0) byOwner.delete(claim.owner);
  };
  const giveUp = (claim: Claim): void => {
    claim.isGivenUp = true;
    claim.verb.fill("-");
    end(claim);
    claim.onGivenUp?.();
  };
  return {
    open(verb, owner, timeoutMs) {
      const endMs = performance.now() + timeoutMs;
      const claim: Claim = { owner, verb: Buffer.from(verb), endMs, isGivenUp: false };
      claim.timer = setTimeout(giveUp, Math.min(timeoutMs, timerMsMax), claim);
      const claims = byOwner.get(owner);
      if (claims === undefined) byOwner.set(owner, new Set([claim]));
      else claims.add(claim);
      return claim;
    },
    close: end,
    giveUp(owner) {
      for (const claim of byOwner.get(owner) ?? []) giveUp(claim);
    },
  };
}
