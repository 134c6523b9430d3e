/** OpenTelemetry metrics and spans for Holdfast locks. */

export { type OpenTelemetryObserverOptions, openTelemetryObserver } from "./open-telemetry-observer.ts";
