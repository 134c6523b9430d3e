/** OpenTelemetry metrics and spans of Holdfast locks. */

export { type OpenTelemetryObserverOptions, openTelemetryObserver } from "./open-telemetry-observer.ts";
