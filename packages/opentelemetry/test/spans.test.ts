import { openTelemetryObserver } from "@holdfast/opentelemetry";
import { context, type Span, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { observedWorld, tracerSdk } from "./telemetry.ts";

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterAll(() => context.disable());

function traced(options: Parameters<typeof observedWorld>[0] = {}) {
  const sdk = tracerSdk();
  const tracer = sdk.provider.getTracer("test");
  /** Runs in the context of a span of the caller. */
  const within = async <T>(name: string, run: () => Promise<T>): Promise<T> =>
    tracer.startActiveSpan(name, async (span: Span) => run().finally(() => span.end()));
  const named = (name: string): ReadableSpan[] => sdk.spans().filter((span) => span.name === name);
  return { ...observedWorld({ tracer, ...options }), ...sdk, within, named };
}

const durationMs = ({ duration: [seconds, nanoseconds] }: ReadableSpan): number => seconds * 1e3 + nanoseconds / 1e6;

describe("the spans of openTelemetryObserver()", () => {
  it("are one for the call, in the trace of the caller, and one for the hold, as its child", async () => {
    const { clock, redlock, within, named } = traced();
    const lock = await clock.until(within("request", () => redlock.acquire("r")));
    expect(named("holdfast.lock.hold")).toEqual([]);
    await clock.until(lock.release());

    const [request, call, hold] = ["request", "holdfast.lock.acquire", "holdfast.lock.hold"].map(
      (name) => named(name)[0],
    );
    expect(call?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId);
    expect(hold?.parentSpanContext?.spanId).toBe(call?.spanContext().spanId);
    expect(call?.attributes).toEqual({
      "holdfast.lock.outcome": "acquired",
      "holdfast.lock.acquire.attempts": 1,
      "holdfast.lock.fence": lock.fence,
    });
    expect(hold?.attributes).toEqual({ "holdfast.lock.fence": lock.fence });
    expect([call?.status.code, hold?.status.code]).toEqual([SpanStatusCode.UNSET, SpanStatusCode.UNSET]);
  });

  it("stay in the trace of their caller when calls wait for each other", async () => {
    const { clock, redlock, within, named } = traced();
    const first = await clock.until(within("first", () => redlock.acquire("r")));
    const second = within("second", () => redlock.acquire("r"));
    const third = within("third", () => redlock.acquire("r"));
    await clock.advance(100);
    await clock.until(within("releasing", () => first.release()));
    await clock.until((await clock.until(second)).release());
    await clock.until(third);
    const callers = named("holdfast.lock.acquire").map(({ parentSpanContext }) => parentSpanContext?.spanId);
    const expected = ["first", "second", "third"].map((name) => named(name)[0]?.spanContext().spanId);
    expect(callers).toEqual(expected);
  });

  it("begin when the call began, and have events for attempts and for failing nodes", async () => {
    const { clock, nodes, redlock, rival, named } = traced();
    const [a] = nodes as [(typeof nodes)[0]];
    a.fault = () => ({ reject: new Error("of a secret: connection refused") });
    await clock.until(rival({ ttlMs: 300 }).acquire("r"));
    const lock = await clock.until(redlock.acquire("r"));
    await clock.until(lock.extend());
    await clock.until(lock.release());

    const [call] = named("holdfast.lock.acquire") as [ReadableSpan];
    expect(durationMs(call)).toBeGreaterThan(250); // of 300, because the SDK has its own clock, which rounds
    const attempts = call.events.filter(({ name }) => name === "holdfast.lock.attempt");
    expect(attempts.length).toBe(call.attributes["holdfast.lock.acquire.attempts"]);
    expect(attempts[0]?.attributes).toEqual({
      "holdfast.lock.outcome": "held",
      "holdfast.lock.attempt.duration": expect.any(Number),
    });
    expect(attempts.at(-1)?.attributes).toMatchObject({ "holdfast.lock.outcome": "acquired" });
    const failures = call.events.filter(({ name }) => name === "holdfast.node.failure");
    expect(failures.length).toBe(attempts.length);
    const failure = { "holdfast.node.name": "a", "error.type": "Error" };
    expect(failures[0]?.attributes).toEqual({ ...failure, "holdfast.operation.name": "acquire" });

    const [hold] = named("holdfast.lock.hold") as [ReadableSpan];
    expect(hold.events.map(({ name, attributes }) => [name, attributes?.["holdfast.operation.name"]])).toEqual([
      ["holdfast.node.failure", "extend"],
      ["holdfast.lock.extension", undefined],
      ["holdfast.node.failure", "release"],
    ]);
  });

  it("have the status ERROR and an error.type when a call fails, but not when it is denied", async () => {
    const { clock, redlock, rival, named } = traced();
    await clock.until(rival().acquire("r"));
    await clock.until(redlock.tryAcquire("r"));
    await clock.until(redlock.acquire("r", { waitTimeoutMs: 100 }).catch(() => {}));
    expect(named("holdfast.lock.acquire").map(({ status, attributes }) => ({ status, ...attributes }))).toEqual([
      {
        status: { code: SpanStatusCode.UNSET },
        "holdfast.lock.outcome": "held",
        "holdfast.lock.acquire.attempts": 1,
      },
      {
        status: { code: SpanStatusCode.ERROR },
        "holdfast.lock.outcome": "failed",
        "error.type": "WAIT_TIMEOUT",
        "holdfast.lock.acquire.attempts": expect.any(Number),
      },
    ]);
  });

  it("have the status ERROR and the reason when the lock is lost", async () => {
    const { clock, redlock, within, named } = traced();
    await clock.until(within("request", () => redlock.acquire("r")));
    await clock.advance(10_000);
    const [hold] = named("holdfast.lock.hold");
    expect(hold).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "LOCK_LOST", "holdfast.lock.loss.reason": "expired" },
    });
    expect(hold?.spanContext().traceId).toBe(named("request")[0]?.spanContext().traceId);
  });

  it("contain no owner and no message, and a resource only from resourceAttribute", async () => {
    const run = async (options: Parameters<typeof observedWorld>[0]): Promise<string> => {
      const { clock, nodes, redlock, rival, spans } = traced(options);
      const [a] = nodes as [(typeof nodes)[0]];
      a.fault = () => ({ reject: new Error("no invoice:42 here") });
      const lock = await clock.until(redlock.acquire("invoice:42", { label: "host" }));
      await clock.until(lock.release());
      await clock.until(rival().acquire("invoice:42"));
      await clock.until(redlock.acquire("invoice:42", { waitTimeoutMs: 50 }).catch(() => {}));
      const told = spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
      expect(told.length).toBe(3);
      return JSON.stringify(told);
    };
    expect(await run({})).not.toMatch(/invoice|host/);
    expect(await run({ resourceAttribute: ([name]) => name?.split(":")[0] })).toContain(
      '"holdfast.lock.resource":"invoice"',
    );
  });

  it("go to the global tracer, even if it is registered after the observer was created", async () => {
    const observer = openTelemetryObserver();
    const { provider, spans } = tracerSdk();
    onTestFinished(() => trace.disable());
    trace.setGlobalTracerProvider(provider);
    observer.acquireFailed?.({ resources: ["r"], waitedMs: 5, error: new Error("in vain") });
    expect(spans().map(({ name, instrumentationScope }) => [name, instrumentationScope.name])).toEqual([
      ["holdfast.lock.acquire", "@holdfast/opentelemetry"],
    ]);
  });

  it("keep the first hundred events of a call that never stops making attempts", async () => {
    const { clock, redlock, rival, named } = traced();
    const other = await clock.until(rival({ ttlMs: 100_000 }).acquire("r"));
    const waiting = redlock.acquire("r", { waitTimeoutMs: Number.POSITIVE_INFINITY });
    await clock.advance(60_000);
    await clock.until(other.release());
    await clock.until(waiting);
    const [call] = named("holdfast.lock.acquire") as [ReadableSpan];
    expect(call.attributes["holdfast.lock.acquire.attempts"]).toBeGreaterThan(100);
    expect(call.events.length).toBe(100);
  });
});
