import type { LockError } from "@holdfast/core";
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

/** Every code that a call can fail with. */
const codes: Readonly<Record<LockError["code"], true>> = {
  LOCK_HELD: true,
  WAIT_TIMEOUT: true,
  QUORUM_UNREACHABLE: true,
  MISCONFIGURED: true,
  LOCK_LOST: true,
  QUEUE_FULL: true,
  CLOSED: true,
};

/**
 * What a call that ended without a lock came to. That another owner holds it is an answer, not an error. Anything may be
 * the reason of a caller's signal: of that only the name is told, as its code might be another one each time.
 */
export function failureAttributes(error: unknown): Attributes {
  const code = word(error, "code");
  const isOurs = error instanceof Error && code !== undefined && Object.hasOwn(codes, code);
  if (isOurs && code === "LOCK_HELD") return { [attribute.outcome]: "held" };
  return { [attribute.outcome]: "failed", [attribute.errorType]: isOurs ? code : (word(error, "name") ?? other) };
}

/** What an error is called where it is neither: the value that the semantic conventions ask for. */
const other = "_OTHER";

/** The code of an error, or else its name. Never its message: that names resources, and is a different one each time. */
export function errorType(error: unknown): string {
  return word(error, "code") ?? word(error, "name") ?? other;
}

/** A field of an error, if it is a single word. */
function word(error: unknown, field: "code" | "name"): string | undefined {
  try {
    const value = (error as Readonly<Record<string, unknown>> | null | undefined)?.[field];
    return typeof value === "string" && /^\w{1,64}$/.test(value) ? value : undefined;
  } catch {
    return undefined; // a getter that throws
  }
}

/** What a hold came to: an attribute only where it did not end as it should. */
export function releaseAttributes(confirmed: boolean): Attributes {
  return confirmed ? {} : { [attribute.errorType]: "QUORUM_UNREACHABLE" };
}
