import { election } from "@holdfast/core/election";
import { openTelemetryElectionObserver } from "@holdfast/opentelemetry";
import { SpanStatusCode } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";
import { meterSdk, observedWorld, tracerSdk, valuesOf } from "./telemetry.ts";

describe("openTelemetryElectionObserver()", () => {
  it("openTelemetryElectionObserver() records a span for each term, how it ended, and whether this process leads", async () => {
    const [meters, tracers] = [meterSdk(), tracerSdk()];
    const { clock, nodes, redlock } = observedWorld({});
    const observer = openTelemetryElectionObserver({
      meter: meters.provider.getMeter("test"),
      tracer: tracers.provider.getTracer("test"),
      resourceAttribute: ([name]) => name?.split(":")[0],
    });
    const valuesNow = async (name: string) => valuesOf((await meters.collect()).get(name));
    const resource = { "holdfast.lock.resource": "jobs" };
    const terms = election(redlock, "jobs:7", { observer, ttlMs: 1_000 }).campaign();
    const { value: first } = await clock.until(terms.next());
    expect(await valuesNow("holdfast.election.leading")).toEqual([[resource, 1]]);
    for (const node of nodes) node.fault = () => ({ lose: "request" });
    await clock.advance(2_000);
    for (const node of nodes) node.fault = () => undefined;
    const { value: second } = await clock.until(terms.next());
    await terms.return?.();

    expect(await valuesNow("holdfast.election.leading")).toEqual([[resource, 0]]);
    expect(await valuesNow("holdfast.election.terms")).toEqual([
      [{ ...resource, "holdfast.election.term.end": "unreachable" }, 1],
      [{ ...resource, "holdfast.election.term.end": "stopped" }, 1],
    ]);
    const spans = tracers.spans().map(({ name, attributes, status }) => ({ name, attributes, status: status.code }));
    const name = "holdfast.election.term";
    const fenceOf = (fence: number | undefined) => ({ ...resource, "holdfast.lock.fence": fence });
    expect(spans).toEqual([
      {
        name,
        attributes: {
          ...fenceOf(first?.fence),
          "holdfast.election.term.end": "unreachable",
          "error.type": "TERM_ENDED",
        },
        status: SpanStatusCode.ERROR,
      },
      {
        name,
        attributes: { ...fenceOf(second?.fence), "holdfast.election.term.end": "stopped" },
        status: SpanStatusCode.UNSET,
      },
    ]);
  });

  it("openTelemetryElectionObserver() rejects an unknown option", () => {
    const make = openTelemetryElectionObserver as (options: object) => unknown;
    expect(() => make({ tracers: 1 })).toThrow("did you mean tracer?");
  });
});
