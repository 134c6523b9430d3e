import type { Attributes } from "@opentelemetry/api";

/** The attributes that metrics and spans share. All but the resource have few values. */
export const attribute = {
  errorType: "error.type",
  outcome: "holdfast.lock.outcome",
  lossReason: "holdfast.lock.loss.reason",
  resource: "holdfast.lock.resource",
  fence: "holdfast.lock.fence",
  attempts: "holdfast.lock.acquire.attempts",
  attemptDuration: "holdfast.lock.attempt.duration",
  node: "holdfast.node.name",
  operation: "holdfast.operation.name",
} as const;

/** Gives the attributes that tell what is locked. */
export type ResourceAttributes = (resources: readonly string[]) => Attributes;

/**
 * Asks the user's function once for each lock, so that what is counted up under one value is counted down under the same.
 * One that throws leaves the attribute out, and nothing else.
 */
export function resourceAttributes(
  resourceAttribute: ((resources: readonly string[]) => string | undefined) | undefined,
): ResourceAttributes {
  if (resourceAttribute === undefined) return () => ({});
  const known = new WeakMap<readonly string[], Attributes>();
  return (resources) => {
    let attributes = known.get(resources);
    if (attributes === undefined) {
      attributes = {};
      known.set(resources, attributes);
      try {
        const value = resourceAttribute(resources);
        if (typeof value === "string") attributes[attribute.resource] = value;
      } catch {
        // As documented.
      }
    }
    return attributes;
  };
}

/** What a call that ended without a lock came to. That another owner holds it is an answer, not an error. */
export function failureAttributes(error: unknown): Attributes {
  const type = errorType(error);
  if (type === "LOCK_HELD") return { [attribute.outcome]: "held" };
  return { [attribute.outcome]: "failed", [attribute.errorType]: type };
}

/**
 * The code of an error, or else its name. Never its message: that names resources, and is a different one each time. What
 * looks like neither is `_OTHER`, as the semantic conventions want it.
 */
export function errorType(error: unknown): string {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown };
  const types = [code, name].filter((type) => typeof type === "string" && /^\w{1,64}$/.test(type));
  return (types[0] as string | undefined) ?? "_OTHER";
}

/** What a hold came to: an attribute only where it did not end as it should. */
export function releaseAttributes(confirmed: boolean): Attributes {
  return confirmed ? {} : { [attribute.errorType]: "QUORUM_UNREACHABLE" };
}
