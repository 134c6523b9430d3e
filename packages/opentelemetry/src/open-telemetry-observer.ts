import type { Observer } from "@holdfast/core";
import { assertOptions } from "@holdfast/core/node";
import { type Meter, type Tracer, trace } from "@opentelemetry/api";
import { resourceAttributes } from "./attributes.ts";
import { type LockObserver, metricsObserver } from "./metrics.ts";
import { scope } from "./scope.ts";
import { spansObserver } from "./spans.ts";

/** The options of {@link openTelemetryObserver}. */
export interface OpenTelemetryObserverOptions {
  /** Creates the instruments. Default: a meter of the global meter provider, as soon as one is registered. */
  readonly meter?: Meter | undefined;
  /** Creates the spans. Default: a tracer of the global tracer provider. */
  readonly tracer?: Tracer | undefined;
  /**
   * Returns the value of `holdfast.lock.resource` in metrics and spans, given the sorted names of the locked resources.
   * Default: the attribute is left out, because names may be secret, and each value adds one more series to every
   * metric. Return one of a few values, such as `"invoice"` for `invoice:42`, and always the same one for the same
   * names; undefined leaves the attribute out.
   */
  readonly resourceAttribute?: ((resources: readonly string[]) => string | undefined) | undefined;
}

/**
 * Returns an observer that records metrics and spans, for `new Redlock(nodes, { observer })`. It records no owner and,
 * unless `resourceAttribute` is given, no resource. Without an SDK it does next to nothing. Several `Redlock`s may
 * share it.
 *
 * @param options see {@link OpenTelemetryObserverOptions}
 * @throws {TypeError} for an unknown option
 *
 * @example
 * ```ts
 * import { openTelemetryObserver } from "@holdfast/opentelemetry";
 *
 * const observer = openTelemetryObserver({ resourceAttribute: ([name]) => name?.split(":")[0] });
 * const redlock = new Redlock([memoryNode()], { observer });
 * ```
 */
export function openTelemetryObserver(options: OpenTelemetryObserverOptions = {}): Observer {
  assertOptions(options, ["meter", "tracer", "resourceAttribute"], "openTelemetryObserver");
  const { meter, tracer = trace.getTracer(scope), resourceAttribute } = options;
  const resourceOf = resourceAttributes(resourceAttribute);
  return both(metricsObserver(meter, resourceOf), spansObserver(tracer, resourceOf));
}

/** Returns an observer that passes every event to both observers. */
function both(first: LockObserver, second: LockObserver): LockObserver {
  const call =
    <Name extends keyof LockObserver>(name: Name) =>
    (event: never): void => {
      first[name](event);
      second[name](event);
    };
  return {
    attemptSettled: call("attemptSettled"),
    acquired: call("acquired"),
    acquireFailed: call("acquireFailed"),
    extended: call("extended"),
    released: call("released"),
    lost: call("lost"),
    nodeFailed: call("nodeFailed"),
  };
}
