import { type Histogram, type Meter, type MeterProvider, metrics } from "@opentelemetry/api";
import { scope } from "./scope.ts";

/**
 * Buckets in seconds, from a vote on a local network to a job of several minutes. The SDK's default buckets begin at
 * five.
 */
const durationBuckets = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 900];

/** Creates a histogram of durations in seconds. */
export function durationHistogram(meter: Meter, name: string, description: string): Histogram {
  return meter.createHistogram(name, { description, unit: "s", advice: { explicitBucketBoundaries: durationBuckets } });
}

/**
 * Returns a function that returns the instruments of a meter; without one, of the global meter provider, which may be
 * registered after the observer is created: unlike tracers, meters do not notice that.
 */
export function fromMeter<Instruments>(
  meter: Meter | undefined,
  create: (meter: Meter) => Instruments,
): () => Instruments {
  let provider: MeterProvider | undefined;
  let instruments = meter && create(meter);
  return () => {
    const current = metrics.getMeterProvider();
    if (instruments === undefined || (meter === undefined && current !== provider)) {
      provider = current;
      instruments = create(current.getMeter(scope));
    }
    return instruments;
  };
}
