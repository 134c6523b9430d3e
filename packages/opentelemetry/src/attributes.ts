import type { LockError } from "@holdfast/core";
import type { Attributes } from "@opentelemetry/api";

/** The attributes of metrics and spans. All except the resource have few values. */
export const attribute = {
  errorType: "error.type",
  outcome: "holdfast.lock.outcome",
  lossReason: "holdfast.lock.loss.reason",
  termEnd: "holdfast.election.term.end",
  resource: "holdfast.lock.resource",
  fence: "holdfast.lock.fence",
  attempts: "holdfast.lock.acquire.attempts",
  attemptDuration: "holdfast.lock.attempt.duration",
  node: "holdfast.node.name",
  operation: "holdfast.operation.name",
  semaphore: "holdfast.semaphore.name",
} as const;

/** Returns the attributes that identify the resources. */
export type ResourceAttributes = (resources: readonly string[]) => Attributes;

/**
 * Returns a function that calls the user's function once per lock, so that a lock is counted up and down under the same
 * value. If the user's function throws, only the attribute is left out.
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
        // The attribute is left out, as documented.
      }
    }
    return attributes;
  };
}

/** Every code with which a call can fail. */
const codes: Readonly<Record<LockError["code"], true>> = {
  LOCK_HELD: true,
  WAIT_TIMEOUT: true,
  QUORUM_UNREACHABLE: true,
  MISCONFIGURED: true,
  LOCK_LOST: true,
  QUEUE_FULL: true,
  TICKET_SPENT: true,
  CLOSED: true,
};

/**
 * Returns the attributes of a call that ended without a lock. A lock held by another owner is a result, not an error.
 * The reason of a caller's signal may be any value: only its name is recorded, because its code could differ each time.
 */
export function failureAttributes(error: unknown): Attributes {
  const code = word(error, "code");
  const isOurs = error instanceof Error && code !== undefined && Object.hasOwn(codes, code);
  if (isOurs && code === "LOCK_HELD") return { [attribute.outcome]: "held" };
  return { [attribute.outcome]: "failed", [attribute.errorType]: isOurs ? code : (word(error, "name") ?? other) };
}

/** The value of the semantic conventions for an error without a code or a name. */
const other = "_OTHER";

/** Returns the code of an error, otherwise its name. Never its message, which names resources and differs each time. */
export function errorType(error: unknown): string {
  return word(error, "code") ?? word(error, "name") ?? other;
}

/** Returns a field of an error if it is a single word. */
function word(error: unknown, field: "code" | "name"): string | undefined {
  try {
    const value = (error as Readonly<Record<string, unknown>> | null | undefined)?.[field];
    return typeof value === "string" && /^\w{1,64}$/.test(value) ? value : undefined;
  } catch {
    return undefined; // a getter that throws
  }
}

/** Returns the attributes of a release: an error if it was not confirmed. */
export function releaseAttributes(confirmed: boolean): Attributes {
  return confirmed ? {} : { [attribute.errorType]: "QUORUM_UNREACHABLE" };
}
