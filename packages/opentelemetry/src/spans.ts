import type { Observer } from "@holdfast/core";
import { type Attributes, context, type Span, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { attribute, errorType, failureAttributes, type ResourceAttributes, releaseAttributes } from "./attributes.ts";

/** Something that happened during a call, kept until its span is made. */
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
  const callsUnderWay = new WeakMap<readonly string[], Happening[]>();
  const holds = new WeakMap<readonly string[], Span>();

  const happened = (resources: readonly string[], name: string, attributes: Attributes): void => {
    const hold = holds.get(resources);
    if (hold !== undefined) {
      hold.addEvent(name, attributes);
      return;
    }
    const happenings = callsUnderWay.get(resources) ?? [];
    callsUnderWay.set(resources, happenings);
    if (happenings.length < happeningsMax) happenings.push({ name, atMs: Date.now(), attributes });
  };
  const recordCall = (resources: readonly string[], waitedMs: number, outcome: Attributes): Span => {
    const endTime = Date.now();
    const attributes = { ...resourceOf(resources), ...outcome };
    const span = tracer.startSpan("holdfast.lock.acquire", { startTime: endTime - waitedMs, attributes });
    for (const { name, atMs, attributes } of callsUnderWay.get(resources) ?? []) span.addEvent(name, attributes, atMs);
    callsUnderWay.delete(resources);
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
      const attributes = { [attribute.outcome]: outcome, [attribute.attemptDuration]: elapsedMs / 1000 };
      happened(resources, "holdfast.lock.attempt", attributes);
    },
    acquired({ resources, fence, attempts, waitedMs }) {
      const outcome = { [attribute.outcome]: "acquired", [attribute.attempts]: attempts, [attribute.fence]: fence };
      const call = recordCall(resources, waitedMs, outcome);
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
