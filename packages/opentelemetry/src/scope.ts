/** The instrumentation scope of this package. */
export const scope = "@holdfast/opentelemetry";
