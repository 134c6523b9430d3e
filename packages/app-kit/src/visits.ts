/** Visits under locks: how long a holder may rely on its lock. */
import type { Lock } from "@holdfast/core";
import { monotonicMs } from "@holdfast/testkit/monotonic";

/** Records from now on how long a holder may rely on its lock. */
export function believe(lock: Pick<Lock, "signal" | "remainingMs">) {
  const grantedAtMs = monotonicMs();
  let validUntilMs = grantedAtMs;
  const renew = (): void => {
    const nowMs = monotonicMs(); // read first, so that a pause in between shortens the time, and never lengthens it
    const leftMs = lock.remainingMs();
    if (leftMs > 0) validUntilMs = nowMs + leftMs; // otherwise it ended earlier, such as during a pause
  };
  renew();
  // A lock may end slightly before the end of its validity, because the clock that counts suspensions ticks in whole
  // milliseconds.
  lock.signal.addEventListener("abort", () => {
    validUntilMs = Math.min(validUntilMs, monotonicMs());
  });
  return {
    grantedAtMs,
    renew,
    /** Returns the end of the validity as the lock now tells it, which may have been extended automatically. */
    validUntilMs(): number {
      renew();
      return validUntilMs;
    },
    /** Returns how long the holder could rely on the lock, if the visit ends now, and why it cannot any more. */
    end(): { readonly heldUntilMs: number; readonly end: "released" | "lost" } {
      renew();
      const nowMs = monotonicMs();
      return { heldUntilMs: Math.min(nowMs, validUntilMs), end: nowMs < validUntilMs ? "released" : "lost" };
    },
  };
}
