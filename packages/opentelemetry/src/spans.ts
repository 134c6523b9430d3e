import type { Observer } from "@holdfast/core";
import { type Attributes, context, type Span, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { attribute, errorType, failureAttributes, type ResourceAttributes, releaseAttributes } from "./attributes.ts";

/** A call that has not ended yet: what its span is going to tell. */
interface Call {
  attempts: number;
  readonly happenings: Happening[];
}

interface Happening {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: Attributes;
}

/** A call may wait for ever, and make attempts without end; the SDK's own limit for a span is 128. */
const happeningsMax = 100;

/**
 * Records a span for each call to acquire and, as its child, one for the time that the lock is held.
 *
 * The first is made when the call has ended, as the observer hears of it only then: with the times of the call, and as a
 * child of the span that is active in the caller.
 */
export function spansObserver(tracer: Tracer, resourceOf: ResourceAttributes): Required<Observer> {
  const calls = new WeakMap<readonly string[], Call>();
  const holds = new WeakMap<readonly string[], Span>();

  const callOf = (resources: readonly string[]): Call => {
    const call = calls.get(resources) ?? { attempts: 0, happenings: [] };
    calls.set(resources, call);
    return call;
  };
  const happened = (resources: readonly string[], name: string, attributes: Attributes): void => {
    const hold = holds.get(resources);
    if (hold !== undefined) {
      hold.addEvent(name, attributes);
      return;
    }
    const { happenings } = callOf(resources);
    if (happenings.length < happeningsMax) happenings.push({ name, atMs: Date.now(), attributes });
  };
  const recordCall = (resources: readonly string[], waitedMs: number, outcome: Attributes): Span => {
    const endTime = Date.now();
    const { attempts, happenings } = callOf(resources);
    calls.delete(resources);
    const attributes = { ...resourceOf(resources), ...outcome, [attribute.attempts]: attempts };
    const span = tracer.startSpan("holdfast.lock.acquire", { startTime: endTime - waitedMs, attributes });
    for (const happening of happenings) span.addEvent(happening.name, happening.attributes, happening.atMs);
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
      happened(resources, "holdfast.lock.attempt", attributes);
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
      happened(resources, "holdfast.lock.extension", {});
    },
    released({ resources, confirmed }) {
      endHold(resources, releaseAttributes(confirmed));
    },
    lost({ resources, error }) {
      endHold(resources, { [attribute.errorType]: error.code, [attribute.lossReason]: error.reason });
    },
    nodeFailed({ node, method, resources, error }) {
      if (method === "inspect") return; // no call to acquire, and no lock
      happened(resources, "holdfast.node.failure", {
        [attribute.node]: node,
        [attribute.operation]: method,
        [attribute.errorType]: errorType(error),
      });
    },
  };
}

/** Without a description: messages of errors name what is locked. */
function markFailed(span: Span, outcome: Attributes): void {
  if (outcome[attribute.errorType] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
}
