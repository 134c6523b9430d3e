import { type Attempt, attempt, type Lost, type Won } from "../acquire.ts";
import type { Ensemble } from "../claim.ts";
import {
  ConfigurationError,
  failureMessage,
  type HoldfastError,
  LockHeldError,
  QuorumUnreachableError,
  WaitTimeoutError,
} from "../errors.ts";
import type { Settings } from "../options.ts";
import { failureOf } from "../outcome.ts";
import { retryDelay } from "../retry.ts";
import type { Waiter, WaitQueue } from "./wait-queue.ts";

/** A won attempt, and how many it took. */
export type Success = Won & { readonly attempts: number };

/** Makes one attempt, unless the signal says not to. */
async function tryOnce(ensemble: Ensemble, settings: Settings, resources: readonly string[]): Promise<Attempt> {
  settings.signal?.throwIfAborted();
  const result = await attempt(ensemble, settings, resources);
  if (result.outcome !== "acquired") settings.signal?.throwIfAborted();
  return result;
}

/**
 * Tries until an attempt is won or the time is up. Waiters of one process stand in line; the first in line tries, with
 * random delays in between, and sooner when a lock of this process in its way has ended.
 *
 * @throws {LockHeldError | WaitTimeoutError | QuorumUnreachableError | ConfigurationError | QueueFullError} and the
 *   signal's reason
 */
export async function waitForLock(
  ensemble: Ensemble,
  queue: WaitQueue,
  settings: Settings,
  resources: readonly string[],
): Promise<Success> {
  if (settings.waitTimeoutMs === 0) {
    const result = await tryOnce(ensemble, settings, resources);
    if (result.outcome === "acquired") return { ...result, attempts: 1 };
    throw errorOf(result, ensemble, settings, resources);
  }
  settings.signal?.throwIfAborted();
  const waiter = queue.enter(resources);
  try {
    return await tryInTurn(ensemble, settings, waiter);
  } finally {
    waiter.leave();
  }
}

async function tryInTurn(ensemble: Ensemble, settings: Settings, waiter: Waiter): Promise<Success> {
  const { clock } = ensemble;
  const { signal, waitTimeoutMs } = settings;
  const deadlineMs = clock.monotonicMs() + waitTimeoutMs;
  let lost: Lost | undefined;
  for (let attempts = 0; ; ) {
    if (waiter.isFirst) {
      waiter.beginAttempt();
      attempts += 1;
      const result = await tryOnce(ensemble, settings, waiter.resources);
      if (result.outcome === "acquired") return { ...result, attempts };
      if (result.outcome === "misconfigured") throw errorOf(result, ensemble, settings, waiter.resources);
      lost = result;
    }
    const leftMs = deadlineMs - clock.monotonicMs();
    const delayMs = waiter.isFirst ? retryDelay(settings, attempts, lost?.retryAfterMs) : leftMs;
    if (leftMs > 0) await waiter.pause(Math.min(delayMs, leftMs), signal);
    signal?.throwIfAborted();
    if (clock.monotonicMs() < deadlineMs) continue;
    if (lost !== undefined) throw errorOf(lost, ensemble, settings, waiter.resources, attempts);
    const remark = `waited ${waitTimeoutMs} ms behind others in this process`;
    throw new WaitTimeoutError(failureMessage("lock", waiter.resources, [], 0, remark), waiter.resources);
  }
}

/**
 * The error that a lost attempt amounts to.
 *
 * @param attempts how many were made while waiting, if there was to be any waiting
 */
function errorOf(
  { outcome, answers, remark }: Lost,
  { nodes }: Ensemble,
  { quorum, waitTimeoutMs }: Settings,
  resources: readonly string[],
  attempts?: number,
): HoldfastError {
  const remarks = [
    attempts === undefined ? undefined : `made ${attempts} attempts in ${waitTimeoutMs} ms`,
    outcome === "held" ? "another owner is in the way" : remark,
  ];
  const parts = failureOf("lock", resources, nodes, answers, quorum, remarks.filter(Boolean).join("; "));
  if (outcome === "misconfigured") return new ConfigurationError(...parts);
  if (outcome === "unreachable") return new QuorumUnreachableError(...parts);
  return attempts === undefined ? new LockHeldError(...parts) : new WaitTimeoutError(...parts);
}
