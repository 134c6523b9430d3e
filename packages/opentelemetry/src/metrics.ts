import type { Observer } from "@holdfast/core";
import type { Attributes, Counter, Histogram, Meter, UpDownCounter } from "@opentelemetry/api";
import { attribute, errorType, failureAttributes, type ResourceAttributes, releaseAttributes } from "./attributes.ts";
import { durationHistogram, fromMeter } from "./instruments.ts";

interface Instruments {
  readonly acquireDuration: Histogram;
  readonly acquireAttempts: Histogram;
  readonly waitDuration: Histogram;
  readonly attemptDuration: Histogram;
  readonly holdDuration: Histogram;
  readonly held: UpDownCounter;
  readonly losses: Counter;
  readonly extensions: Counter;
  readonly nodeFailures: Counter;
}

const attemptBuckets = [0, 1, 2, 3, 5, 10, 20, 50, 100];

/** The attempts of one call so far. */
interface Attempts {
  count: number;
  elapsedMs: number;
}

/** The callbacks that metrics and spans have. The end of a lock is recorded once it is released. */
export type LockObserver = Required<Omit<Observer, "releasing">>;

/** Returns an observer that records metrics. */
export function metricsObserver(meter: Meter | undefined, resourceOf: ResourceAttributes): LockObserver {
  const instruments = fromMeter(meter, createInstruments);
  const attemptsOf = new WeakMap<readonly string[], Attempts>();
  /**
   * The counter on which each lock was counted. A provider that is registered before the lock ends has not counted it.
   */
  const countedOn = new WeakMap<readonly string[], UpDownCounter>();

  /**
   * Records a call that has ended. Its wait is the part without an attempt: time in a queue, and delays between
   * attempts.
   */
  const recordCall = (resources: readonly string[], waitedMs: number, outcome: Attributes): void => {
    const { acquireDuration, acquireAttempts, waitDuration } = instruments();
    const { count, elapsedMs } = attemptsOf.get(resources) ?? { count: 0, elapsedMs: 0 };
    attemptsOf.delete(resources);
    const attributes = { ...resourceOf(resources), ...outcome };
    acquireDuration.record(waitedMs / 1000, attributes);
    waitDuration.record(Math.max(0, waitedMs - elapsedMs) / 1000, attributes);
    acquireAttempts.record(count, attributes);
  };
  const recordHold = (resources: readonly string[], heldMs: number, outcome: Attributes): void => {
    countedOn.get(resources)?.add(-1, resourceOf(resources));
    instruments().holdDuration.record(heldMs / 1000, { ...resourceOf(resources), ...outcome });
  };

  return {
    attemptSettled({ resources, outcome, elapsedMs }) {
      const attempts = attemptsOf.get(resources) ?? { count: 0, elapsedMs: 0 };
      attempts.count += 1;
      attempts.elapsedMs += elapsedMs;
      attemptsOf.set(resources, attempts);
      const attributes = { ...resourceOf(resources), [attribute.outcome]: outcome };
      instruments().attemptDuration.record(elapsedMs / 1000, attributes);
    },
    acquired({ resources, waitedMs }) {
      const { held } = instruments();
      held.add(1, resourceOf(resources));
      countedOn.set(resources, held);
      recordCall(resources, waitedMs, { [attribute.outcome]: "acquired" });
    },
    acquireFailed({ resources, waitedMs, error }) {
      recordCall(resources, waitedMs, failureAttributes(error));
    },
    extended({ resources }) {
      instruments().extensions.add(1, resourceOf(resources));
    },
    released({ resources, heldMs, confirmed }) {
      recordHold(resources, heldMs, releaseAttributes(confirmed));
    },
    lost({ resources, heldMs, error }) {
      recordHold(resources, heldMs, { [attribute.errorType]: error.code });
      instruments().losses.add(1, { ...resourceOf(resources), [attribute.lossReason]: error.reason });
    },
    nodeFailed({ node, method, resources, error }) {
      instruments().nodeFailures.add(1, {
        ...resourceOf(resources),
        [attribute.node]: node,
        [attribute.operation]: method,
        [attribute.errorType]: errorType(error),
      });
    },
  };
}

function createInstruments(meter: Meter): Instruments {
  const duration = (name: string, description: string): Histogram => durationHistogram(meter, name, description);
  return {
    acquireDuration: duration("holdfast.lock.acquire.duration", "Time from the call to the lock or the failure."),
    waitDuration: duration(
      "holdfast.lock.wait.duration",
      "The part of a call during which no attempt was in progress.",
    ),
    attemptDuration: duration(
      "holdfast.lock.attempt.duration",
      "Time of one attempt: the requests to all nodes and their replies.",
    ),
    holdDuration: duration("holdfast.lock.hold.duration", "Time from the grant to the release or the loss."),
    acquireAttempts: meter.createHistogram("holdfast.lock.acquire.attempts", {
      description: "Attempts per call.",
      unit: "{attempt}",
      advice: { explicitBucketBoundaries: attemptBuckets },
    }),
    held: meter.createUpDownCounter("holdfast.lock.count", {
      description: "Locks that are currently held.",
      unit: "{lock}",
    }),
    losses: meter.createCounter("holdfast.lock.losses", {
      description: "Locks that were lost before they were released.",
      unit: "{loss}",
    }),
    extensions: meter.createCounter("holdfast.lock.extensions", {
      description: "Successful extensions.",
      unit: "{extension}",
    }),
    nodeFailures: meter.createCounter("holdfast.node.failures", {
      description: "Requests that a node failed to answer: it was down, broken, or too slow.",
      unit: "{failure}",
    }),
  };
}
