import { type Attributes, context, type Span, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { attribute, errorType, failureAttributes, type ResourceAttributes, releaseAttributes } from "./attributes.ts";
import type { LockObserver } from "./metrics.ts";

/** The attempts and events of a call that has not ended yet. */
interface Call {
  attempts: number;
  readonly events: RecordedEvent[];
}

interface RecordedEvent {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: Attributes;
}

/**
 * The most events of a call, which may wait forever and never stop making attempts. The SDK's own limit for a span is
 * 128.
 */
const eventsMax = 100;

/**
 * Returns an observer that records a span for each call to acquire and, as its child, a span for the time that the lock
 * is held.
 *
 * The span of a call is created when the call has ended, because the observer is notified only then. It has the times
 * of the call, and its parent is the span that is active in the caller.
 */
export function spansObserver(tracer: Tracer, resourceOf: ResourceAttributes): LockObserver {
  const calls = new WeakMap<readonly string[], Call>();
  const holds = new WeakMap<readonly string[], Span>();

  const callOf = (resources: readonly string[]): Call => {
    const call = calls.get(resources) ?? { attempts: 0, events: [] };
    calls.set(resources, call);
    return call;
  };
  const record = (resources: readonly string[], name: string, attributes: Attributes): void => {
    const hold = holds.get(resources);
    if (hold !== undefined) {
      hold.addEvent(name, attributes);
      return;
    }
    const { events } = callOf(resources);
    if (events.length < eventsMax) events.push({ name, atMs: Date.now(), attributes });
  };
  const recordCall = (resources: readonly string[], waitedMs: number, outcome: Attributes): Span => {
    const endTime = Date.now();
    const { attempts, events } = callOf(resources);
    calls.delete(resources);
    const attributes = { ...resourceOf(resources), ...outcome, [attribute.attempts]: attempts };
    const span = tracer.startSpan("holdfast.lock.acquire", { startTime: endTime - waitedMs, attributes });
    for (const event of events) span.addEvent(event.name, event.attributes, event.atMs);
    markFailed(span, outcome);
    span.end(endTime);
    return span;
  };
  const endHold = (resources: readonly string[], outcome: Attributes): void => {
    const span = holds.get(resources);
    if (span === undefined) return;
    holds.delete(resources);
    span.setAttributes(outcome);
    markFailed(span, outcome);
    span.end();
  };

  return {
    attemptSettled({ resources, outcome, elapsedMs }) {
      callOf(resources).attempts += 1;
      const attributes = { [attribute.outcome]: outcome, [attribute.attemptDuration]: elapsedMs / 1000 };
      record(resources, "holdfast.lock.attempt", attributes);
    },
    acquired({ resources, fence, waitedMs }) {
      const call = recordCall(resources, waitedMs, { [attribute.outcome]: "acquired", [attribute.fence]: fence });
      const attributes = { ...resourceOf(resources), [attribute.fence]: fence };
      const parent = trace.setSpan(context.active(), call);
      holds.set(resources, tracer.startSpan("holdfast.lock.hold", { attributes }, parent));
    },
    acquireFailed({ resources, waitedMs, error }) {
      recordCall(resources, waitedMs, failureAttributes(error));
    },
    extended({ resources }) {
      record(resources, "holdfast.lock.extension", {});
    },
    released({ resources, confirmed }) {
      endHold(resources, releaseAttributes(confirmed));
    },
    lost({ resources, error }) {
      endHold(resources, { [attribute.errorType]: error.code, [attribute.lossReason]: error.reason });
    },
    nodeFailed({ node, method, resources, error }) {
      if (method === "inspect") return; // inspect() has no span
      record(resources, "holdfast.node.failure", {
        [attribute.node]: node,
        [attribute.operation]: method,
        [attribute.errorType]: errorType(error),
      });
    },
  };
}

/** Sets the status without a description, because error messages name the resources. */
function markFailed(span: Span, outcome: Attributes): void {
  if (outcome[attribute.errorType] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
}
