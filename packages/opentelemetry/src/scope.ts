/** The name under which the SDK knows what this package records. */
export const scope = "@holdfast/opentelemetry";
