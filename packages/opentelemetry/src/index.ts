/** OpenTelemetry metrics and spans for Holdfast locks, semaphores and elections. */

export { openTelemetryElectionObserver } from "./election-observer.ts";
export { type OpenTelemetryObserverOptions, openTelemetryObserver } from "./open-telemetry-observer.ts";
export {
  type OpenTelemetrySemaphoreObserverOptions,
  openTelemetrySemaphoreObserver,
} from "./semaphore-observer.ts";
