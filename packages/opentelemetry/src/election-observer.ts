import type { ElectionObserver, TermEnd } from "@holdfast/core/election";
import { assertOptions } from "@holdfast/core/node";
import { type Attributes, type Span, SpanStatusCode, trace, type UpDownCounter } from "@opentelemetry/api";
import { attribute, resourceAttributes } from "./attributes.ts";
import { fromMeter } from "./instruments.ts";
import type { OpenTelemetryObserverOptions } from "./open-telemetry-observer.ts";
import { scope } from "./scope.ts";

/** A term in progress. */
interface Term {
  readonly span: Span;
  readonly attributes: Attributes;
  /** The counter on which the term was counted: a provider that is registered later has not counted it. */
  readonly leading: UpDownCounter;
}

/** The ends that somebody wanted. */
const orderly: readonly TermEnd[] = ["resigned", "stopped", "max-hold"];

/**
 * Returns an observer that records the terms of leaders, for `election(redlock, name, { observer })`: a span for each,
 * and how many there were. It records no owner and, unless `resourceAttribute` is given, no name. Several elections may
 * share it. The locks of the leaders are recorded by `openTelemetryObserver`.
 *
 * @param options as for `openTelemetryObserver`; `resourceAttribute` is given the name of the election
 * @throws {TypeError} for an unknown option
 *
 * @example
 * ```ts
 * import { election } from "@holdfast/core/election";
 * import { openTelemetryElectionObserver } from "@holdfast/opentelemetry";
 *
 * const jobs = election(redlock, "jobs", { observer: openTelemetryElectionObserver() });
 * ```
 */
export function openTelemetryElectionObserver(options: OpenTelemetryObserverOptions = {}): ElectionObserver {
  assertOptions(options, ["meter", "tracer", "resourceAttribute"], "openTelemetryElectionObserver");
  const { meter, tracer = trace.getTracer(scope), resourceAttribute } = options;
  const resourceOf = resourceAttributes(resourceAttribute);
  const instruments = fromMeter(meter, (given) => ({
    terms: given.createCounter("holdfast.election.terms", { description: "Terms that have ended.", unit: "{term}" }),
    leading: given.createUpDownCounter("holdfast.election.leading", {
      description: "Terms in progress: 1 while this process leads.",
      unit: "{term}",
    }),
  }));
  const terms = new Map<string, Term>();
  return {
    elected({ name, owner, fence }) {
      const attributes = resourceOf([name]);
      const span = tracer.startSpan("holdfast.election.term", {
        attributes: { ...attributes, [attribute.fence]: fence },
      });
      const { leading } = instruments();
      leading.add(1, attributes);
      terms.set(owner, { span, attributes, leading });
    },
    termEnded({ owner, error: { reason, code } }) {
      const term = terms.get(owner);
      if (term === undefined) return;
      terms.delete(owner);
      const { span, attributes, leading } = term;
      leading.add(-1, attributes);
      instruments().terms.add(1, { ...attributes, [attribute.termEnd]: reason });
      span.setAttribute(attribute.termEnd, reason);
      if (!orderly.includes(reason)) {
        span.setAttribute(attribute.errorType, code);
        span.setStatus({ code: SpanStatusCode.ERROR });
      }
      span.end();
    },
  };
}
