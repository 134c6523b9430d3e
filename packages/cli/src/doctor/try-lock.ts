import { randomUUID } from "node:crypto";
import type { LockNode } from "@holdfast/core";
import { reasonOf } from "../failures.ts";
import { within } from "../within.ts";
import type { Latency } from "./facts.ts";
import { measureLatency } from "./measure.ts";

/** A ttl that outlasts the trial, in milliseconds. */
const trialTtlMs = 10_000;

/** The result of a trial lock. */
export interface Trial {
  /** The reason why a lock could not be acquired, extended and released; null if it could. */
  readonly lockFailure: string | null;
  /** The latency of the extensions; null if there were none. */
  readonly latency: Latency | null;
}

/**
 * Acquires a lock on a server, extends it several times, and releases it.
 *
 * @param resource a resource that nobody but the doctor uses
 * @param extensions how often to extend the lock
 */
export async function tryLock(
  node: LockNode,
  resource: string,
  extensions: number,
  answerTimeoutMs: number,
): Promise<Trial> {
  const request = { resources: [resource], owner: `doctor-${randomUUID()}`, timeoutMs: answerTimeoutMs };
  const claim = { ...request, ttlMs: trialTtlMs };
  const timely = <T>(reply: Promise<T>): Promise<T> => within(answerTimeoutMs, reply);
  const outcome = (lockFailure: string | null, latency: Latency | null = null): Trial => ({ lockFailure, latency });
  try {
    const acquired = await timely(
      node.acquire({ ...claim, fenceHint: 1, ...(await servedEpoch(node, answerTimeoutMs)) }),
    );
    // Another doctor that holds the lock shows that locks are granted.
    if (!acquired.granted) {
      return outcome(acquired.holder?.startsWith("doctor-") ? null : "a lock that nobody holds was denied");
    }
    let isHeld = true;
    const latency = await measureLatency(async () => {
      const { held } = await timely(node.extend({ ...claim, fence: acquired.fence, rejoin: false }));
      isHeld &&= held;
    }, extensions);
    const { released } = await timely(node.release(request));
    return outcome(isHeld && released ? null : "a lock was gone at once", latency);
  } catch (error) {
    node.release(request).catch(() => {});
    return outcome(reasonOf(error as Error));
  }
}

/** Returns an epoch of clients that the node serves, whichever the user's are of: the trial tests the rest. */
async function servedEpoch(node: LockNode, timeoutMs: number): Promise<{ readonly epoch?: number }> {
  if (node.raiseFloor === undefined) return {};
  try {
    const { epoch } = await within(timeoutMs, node.raiseFloor({ floor: 0, epoch: 0, timeoutMs }));
    return epoch > 1 ? { epoch: epoch % 2 === 1 ? epoch : epoch + 1 } : {};
  } catch {
    return {};
  }
}
