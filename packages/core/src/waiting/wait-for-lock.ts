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
import type { Place } from "./place.ts";
import type { WaitQueue } from "./wait-queue.ts";

/** A won attempt, and how many it took. */
export type Success = Won & { readonly attempts: number };

/** Makes one attempt, unless the signal says not to. */
async function tryOnce(
  ensemble: Ensemble,
  settings: Settings,
  { resources, predecessor }: Place,
  waiter?: string,
): Promise<Attempt> {
  settings.signal?.throwIfAborted();
  const result = await attempt(ensemble, settings, resources, { predecessor, waiter });
  if (result.outcome !== "acquired") settings.signal?.throwIfAborted();
  return result;
}

/**
 * Tries until an attempt is won or the time is up. Waiters of one process stand in line; the first in line takes over the
 * lock of this process when that is released, or else asks the nodes: when others announce a release, and after random
 * delays in between.
 *
 * @throws {LockHeldError | WaitTimeoutError | QuorumUnreachableError | ConfigurationError | QueueFullError} and the
 *   signal's reason
 */
export async function waitForLock(
  ensemble: Ensemble,
  queue: WaitQueue,
  settings: Settings,
  place: Place,
): Promise<Success> {
  if (settings.waitTimeoutMs === 0) {
    const result = await tryOnce(ensemble, settings, place);
    if (result.outcome !== "acquired") throw errorOf(result, ensemble, settings, place.resources);
    place.hold();
    return { ...result, attempts: 1 };
  }
  settings.signal?.throwIfAborted();
  queue.enter(place);
  try {
    return await tryInTurn(ensemble, queue, settings, place);
  } catch (error) {
    place.leave();
    throw error;
  }
}

async function tryInTurn(ensemble: Ensemble, queue: WaitQueue, settings: Settings, place: Place): Promise<Success> {
  const { clock } = ensemble;
  const { signal, waitTimeoutMs } = settings;
  const deadlineMs = clock.monotonicMs() + waitTimeoutMs;
  let lost: Lost | undefined;
  for (let attempts = 0; ; ) {
    if (place.isDue) {
      const startedAtMs = clock.monotonicMs();
      place.beginAttempt();
      attempts += 1;
      const waiter = queue.rivalsOf(place)?.isWatching ? ensemble.waiter : undefined;
      const result = await tryOnce(ensemble, settings, place, waiter);
      if (result.outcome === "acquired") {
        place.hold();
        return { ...result, attempts };
      }
      if (result.outcome === "misconfigured") throw errorOf(result, ensemble, settings, place.resources);
      lost = result;
      if (lost.outcome === "held") queue.listen(place, clock.monotonicMs() - startedAtMs);
      // Who hears of releases need not ask often; but a vote that was split is followed by no release that anybody waits for.
      const wasSplit = lost.answers.some((answer) => answer?.kind === "granted");
      const failures = queue.rivalsOf(place)?.isWatching && !wasSplit ? Infinity : attempts;
      place.lostAttempt(retryDelay(settings, failures, lost.retryAfterMs));
    }
    const leftMs = deadlineMs - clock.monotonicMs();
    if (leftMs > 0) await place.pause(leftMs, signal);
    signal?.throwIfAborted();
    if (clock.monotonicMs() < deadlineMs) continue;
    if (lost !== undefined) throw errorOf(lost, ensemble, settings, place.resources, attempts);
    const remark = `waited ${waitTimeoutMs} ms behind others in this process`;
    throw new WaitTimeoutError(failureMessage("lock", place.resources, [], 0, remark), place.resources);
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
