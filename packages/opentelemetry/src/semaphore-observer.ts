import { assertOptions } from "@holdfast/core/node";
import type { SemaphoreObserver } from "@holdfast/core/semaphore";
import type { Attributes, Counter, Histogram, Meter, UpDownCounter } from "@opentelemetry/api";
import { attribute, failureAttributes, releaseAttributes } from "./attributes.ts";
import { durationHistogram, fromMeter } from "./instruments.ts";

/** The options of {@link openTelemetrySemaphoreObserver}. */
export interface OpenTelemetrySemaphoreObserverOptions {
  /** Creates the instruments. Default: a meter of the global meter provider, as soon as one is registered. */
  readonly meter?: Meter | undefined;
  /**
   * Returns the value of `holdfast.semaphore.name`, given the name of the semaphore. Default: the attribute is left out.
   * Return one of a few values, and always the same one for the same name; undefined leaves the attribute out.
   */
  readonly nameAttribute?: ((name: string) => string | undefined) | undefined;
}

interface Instruments {
  readonly acquireDuration: Histogram;
  readonly holdDuration: Histogram;
  readonly permits: UpDownCounter;
  readonly losses: Counter;
}

/**
 * Returns an observer that records metrics of semaphores, for `semaphore(redlock, name, permits, { observer })`. Several
 * semaphores may share it.
 *
 * @param options see {@link OpenTelemetrySemaphoreObserverOptions}
 * @throws {TypeError} for an unknown option
 *
 * @example
 * ```ts
 * import { semaphore } from "@holdfast/core/semaphore";
 * import { openTelemetrySemaphoreObserver } from "@holdfast/opentelemetry";
 *
 * const observer = openTelemetrySemaphoreObserver({ nameAttribute: (name) => name });
 * const api = semaphore(redlock, "api", 5, { observer });
 * ```
 */
export function openTelemetrySemaphoreObserver(
  options: OpenTelemetrySemaphoreObserverOptions = {},
): Required<SemaphoreObserver> {
  assertOptions(options, ["meter", "nameAttribute"], "openTelemetrySemaphoreObserver");
  const { meter, nameAttribute } = options;
  const instruments = fromMeter(meter, createInstruments);
  /** Ends the count of permits on the counter on which it began, under the same name. */
  const endOf = new WeakMap<object, () => void>();
  const nameOf = (name: string): Attributes => {
    const value = nameAttribute?.(name);
    return typeof value === "string" ? { [attribute.semaphore]: value } : {};
  };
  return {
    acquired({ name, slots, waitedMs }) {
      const { permits, acquireDuration } = instruments();
      const attributes = nameOf(name);
      permits.add(slots.length, attributes);
      endOf.set(slots, () => {
        endOf.delete(slots);
        permits.add(-slots.length, attributes);
      });
      acquireDuration.record(waitedMs / 1000, { ...attributes, [attribute.outcome]: "acquired" });
    },
    acquireFailed({ name, waitedMs, error }) {
      instruments().acquireDuration.record(waitedMs / 1000, { ...nameOf(name), ...failureAttributes(error) });
    },
    released({ name, slots, heldMs, confirmed }) {
      const isLost = !endOf.has(slots); // and was recorded then
      endOf.get(slots)?.();
      if (!isLost)
        instruments().holdDuration.record(heldMs / 1000, { ...nameOf(name), ...releaseAttributes(confirmed) });
    },
    lost({ name, slots, heldMs, error }) {
      endOf.get(slots)?.();
      instruments().holdDuration.record(heldMs / 1000, { ...nameOf(name), [attribute.errorType]: error.code });
      instruments().losses.add(1, { ...nameOf(name), [attribute.lossReason]: error.reason });
    },
  };
}

function createInstruments(meter: Meter): Instruments {
  return {
    acquireDuration: durationHistogram(
      meter,
      "holdfast.semaphore.acquire.duration",
      "Time from the call to the permits or the failure.",
    ),
    holdDuration: durationHistogram(
      meter,
      "holdfast.semaphore.hold.duration",
      "Time from the permits to their release or the loss of one.",
    ),
    permits: meter.createUpDownCounter("holdfast.semaphore.permits", {
      description: "Permits that are currently held.",
      unit: "{permit}",
    }),
    losses: meter.createCounter("holdfast.semaphore.losses", {
      description: "Holders that lost a permit before they released it.",
      unit: "{loss}",
    }),
  };
}
