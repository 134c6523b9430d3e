import { attempt, type Lost, type Won } from "../acquire.ts";
import { noAnswers } from "../answers.ts";
import {
  ConfigurationError,
  type HoldfastError,
  LockHeldError,
  QuorumUnreachableError,
  WaitTimeoutError,
} from "../errors.ts";
import { failureOf } from "../outcome.ts";
import { retryDelay } from "../retry.ts";
import { type Moment, momentOf } from "../validity.ts";
import type { Place } from "./place.ts";

/**
 * Goes on after a first attempt, if there was one, until an attempt is won or the time is up. Waiters of one process stand in
 * line; the first in line takes over the lock of this process when that is released, or else asks the nodes: when others
 * announce a release, and after random delays in between.
 *
 * @param calledAt when the waiting began, and the first attempt
 * @param first what came of that
 * @param firstAt when that began
 * @throws {LockHeldError | WaitTimeoutError | QuorumUnreachableError | ConfigurationError} and the signal's reason
 */
export async function waitForLock(
  place: Place,
  calledAt: Moment,
  first: Lost | undefined,
  firstAt: Moment,
): Promise<Won> {
  const { clock } = place.ensemble;
  const { signal, waitTimeoutMs } = place.settings;
  const deadlineMs = calledAt.monotonicMs + waitTimeoutMs;
  let lost = first;
  let startedAt = firstAt;
  for (;;) {
    if (lost !== undefined) takeLoss(place, lost, startedAt);
    do {
      await place.pause(deadlineMs);
      if (place.queue.isCrowded) await place.turn(deadlineMs);
      signal?.throwIfAborted();
      startedAt = momentOf(clock);
      if (startedAt.monotonicMs >= deadlineMs) throw timeoutError(place, lost);
    } while (!place.beginAttempt(startedAt.monotonicMs));
    const result = await attempt(place, startedAt);
    if (result.outcome === "acquired") return result;
    lost = result;
  }
}

/** Decides when the next attempt is due, or that there is none. */
function takeLoss(place: Place, lost: Lost, startedAt: Moment): void {
  const { ensemble, settings } = place;
  settings.signal?.throwIfAborted();
  if (!place.isWaiting || lost.outcome === "misconfigured") throw lossError(place, lost);
  if (lost.outcome === "held") place.listen(ensemble.clock.monotonicMs() - startedAt.monotonicMs);
  // Who hears of releases need not ask often; but a vote that was split is followed by no release that anybody waits for.
  const wasSplit = lost.answers.some((answer) => answer?.kind === "granted");
  const failures = place.rivals?.isWatching && !wasSplit ? Infinity : place.attempts;
  place.lostAttempt(retryDelay(settings, failures, lost.retryAfterMs));
}

function timeoutError(place: Place, lost: Lost | undefined): HoldfastError {
  if (lost !== undefined) return lossError(place, lost, place.attempts);
  const remark = `waited ${place.settings.waitTimeoutMs} ms behind others in this process`;
  return new WaitTimeoutError(...failureOf("lock", place, noAnswers, remark));
}

/**
 * The error that a lost attempt amounts to.
 *
 * @param attempts how many were made while waiting, if there was to be any waiting
 */
export function lossError(place: Place, { outcome, answers, remark }: Lost, attempts?: number): HoldfastError {
  const remarks = [
    attempts && `made ${attempts} attempts in ${place.settings.waitTimeoutMs} ms`,
    outcome === "held" ? "another owner is in the way" : remark,
  ];
  const parts = failureOf("lock", place, answers, remarks.filter(Boolean).join("; "));
  if (outcome === "misconfigured") return new ConfigurationError(...parts);
  if (outcome === "unreachable") return new QuorumUnreachableError(...parts);
  return attempts === undefined ? new LockHeldError(...parts) : new WaitTimeoutError(...parts);
}
