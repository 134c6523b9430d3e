/** OpenTelemetry metrics and spans for Holdfast locks and semaphores. */

export { type OpenTelemetryObserverOptions, openTelemetryObserver } from "./open-telemetry-observer.ts";
export {
  type OpenTelemetrySemaphoreObserverOptions,
  openTelemetrySemaphoreObserver,
} from "./semaphore-observer.ts";
