import type { Observer } from "@holdfast/core";
import { assertOptions } from "@holdfast/core/requests";
import { type Meter, type Tracer, trace } from "@opentelemetry/api";
import { resourceAttributes } from "./attributes.ts";
import { metricsObserver } from "./metrics.ts";
import { scope } from "./scope.ts";
import { spansObserver } from "./spans.ts";

/** What {@link openTelemetryObserver} may be told. */
export interface OpenTelemetryObserverOptions {
  /**
   * Makes the instruments. By default that of the global meter provider, from the moment on that one is registered.
   */
  readonly meter?: Meter | undefined;
  /** Makes the spans. By default that of the global tracer provider. */
  readonly tracer?: Tracer | undefined;
  /**
   * What `holdfast.lock.resource` says in metrics and spans, given the sorted names that are locked. Without this option
   * the attribute is left out: names may be secret, and every value that it takes is one more series of every metric. So
   * let it return one of a few values, such as `"invoice"` for `invoice:42`, and the same one for the same names;
   * undefined leaves the attribute out.
   */
  readonly resourceAttribute?: ((resources: readonly string[]) => string | undefined) | undefined;
}

/**
 * An observer for `new Redlock(nodes, { observer })` that records metrics and spans. Neither ever tells an owner, nor,
 * unless `resourceAttribute` is given, what is locked. Where no SDK is registered, it does next to nothing.
 *
 * Several `Redlock`s may share it.
 *
 * @throws {TypeError} for an unknown option
 */
export function openTelemetryObserver(options: OpenTelemetryObserverOptions = {}): Observer {
  assertOptions(options, ["meter", "tracer", "resourceAttribute"], "openTelemetryObserver");
  const { meter, tracer = trace.getTracer(scope), resourceAttribute } = options;
  const resourceOf = resourceAttributes(resourceAttribute);
  return both(metricsObserver(meter, resourceOf), spansObserver(tracer, resourceOf));
}

/** Tells both of everything. */
function both(first: Required<Observer>, second: Required<Observer>): Required<Observer> {
  const call =
    <Name extends keyof Observer>(name: Name) =>
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
