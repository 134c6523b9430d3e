import { readFile } from "node:fs/promises";
import { ConfigurationError, Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { openTelemetryObserver } from "@holdfast/opentelemetry";
import { type Attributes, metrics } from "@opentelemetry/api";
import { DataPointType, type Histogram, type MetricData } from "@opentelemetry/sdk-metrics";
import { describe, expect, it, onTestFinished } from "vitest";
import { meterSdk, observedWorld, valuesOf } from "./telemetry.ts";

function metered(options: Parameters<typeof observedWorld>[0] = {}) {
  const sdk = meterSdk();
  const world = observedWorld({ meter: sdk.provider.getMeter("test"), ...options });
  return { ...world, ...sdk, valuesNow: async (name: string) => valuesOf((await sdk.collect()).get(name)) };
}

type Recorded = [attributes: Attributes, [count: number, sum: number]];

function typeOf(metric: MetricData): string {
  if (metric.dataPointType === DataPointType.HISTOGRAM) return "histogram";
  return metric.dataPointType === DataPointType.SUM && metric.isMonotonic ? "counter" : "up-down counter";
}

const outcome = (value: string) => ({ "holdfast.lock.outcome": value });

describe("the metrics of openTelemetryObserver()", () => {
  it("record the duration of a call, of its attempts and of the wait between them, in seconds", async () => {
    const { clock, nodes, redlock, rival, collect } = metered();
    for (const node of nodes) node.fault = () => ({ requestMs: 5, replyMs: 5 });
    await clock.until(rival({ ttlMs: 300 }).acquire("r"));
    await clock.until(redlock.acquire("r"));

    const all = await collect();
    const [[, [held, heldFor]], won] = valuesOf(all.get("holdfast.lock.attempt.duration")) as [Recorded, Recorded];
    expect(held).toBeGreaterThan(0);
    expect(heldFor).toBeCloseTo(held * 0.01, 6);
    expect(won).toEqual([outcome("acquired"), [1, 0.01]]);
    const [[attributes, [calls, call]]] = valuesOf(all.get("holdfast.lock.acquire.duration")) as [Recorded];
    expect([attributes, calls]).toEqual([outcome("acquired"), 1]);
    expect(call).toBeGreaterThanOrEqual(0.3);
    const waited = expect.closeTo(call - heldFor - 0.01, 5);
    expect(valuesOf(all.get("holdfast.lock.wait.duration"))).toEqual([[outcome("acquired"), [1, waited]]]);
    expect(valuesOf(all.get("holdfast.lock.acquire.attempts"))).toEqual([[outcome("acquired"), [1, held + 1]]]);
  });

  it("record time in a local queue as waiting, not as attempts", async () => {
    const { clock, redlock, valuesNow } = metered();
    const first = await clock.until(redlock.acquire("r", { ttlMs: 60_000 }));
    const leader = redlock.acquire("r", { waitTimeoutMs: 60_000 });
    const inLine = redlock.acquire("r", { waitTimeoutMs: 500 });
    await expect(clock.until(inLine)).rejects.toMatchObject({ code: "WAIT_TIMEOUT" });
    const failed = { ...outcome("failed"), "error.type": "WAIT_TIMEOUT" };
    expect(await valuesNow("holdfast.lock.wait.duration")).toContainEqual([failed, [1, 0.5]]);
    expect(await valuesNow("holdfast.lock.acquire.attempts")).toContainEqual([failed, [1, 0]]);
    await clock.until(first.release());
    await clock.until(leader);
  });

  it("distinguish calls that failed by error.type, which a call that is denied at once does not have", async () => {
    const { clock, nodes, redlock, rival, valuesNow } = metered();
    await clock.until(rival().acquire("r"));
    expect(await clock.until(redlock.tryAcquire("r"))).toBeNull();
    await clock.until(redlock.acquire("r", { waitTimeoutMs: 100 }).catch(() => {}));
    await redlock.acquire("r", { signal: AbortSignal.abort() }).catch(() => {});
    const coded = Object.assign(new Error("of the caller"), { code: "user_1" });
    for (const reason of ["a string", new Error("with secrets"), { code: "LOCK_HELD" }, coded]) {
      await redlock.acquire("r", { signal: AbortSignal.abort(reason) }).catch(() => {});
    }
    for (const node of nodes) node.fault = () => ({ reject: new Error("down") });
    await clock.until(redlock.tryAcquire("free").catch(() => {}));
    for (const node of nodes) node.fault = () => ({ reject: new ConfigurationError("the same server twice", []) });
    await clock.until(redlock.tryAcquire("free").catch(() => {}));

    const calls = (await valuesNow("holdfast.lock.acquire.duration")).map(([attributes, value]) => ({
      ...attributes,
      count: (value as [number, number])[0],
    }));
    expect(calls).toEqual([
      { ...outcome("held"), count: 1 },
      { ...outcome("failed"), "error.type": "WAIT_TIMEOUT", count: 1 },
      { ...outcome("failed"), "error.type": "AbortError", count: 1 },
      { ...outcome("failed"), "error.type": "_OTHER", count: 2 },
      { ...outcome("failed"), "error.type": "Error", count: 2 },
      { ...outcome("failed"), "error.type": "QUORUM_UNREACHABLE", count: 1 },
      { ...outcome("failed"), "error.type": "MISCONFIGURED", count: 1 },
    ]);
  });

  it("record how many locks are held, how long locks were held, and why they were lost", async () => {
    const { clock, nodes, redlock, valuesNow } = metered();
    const released = await clock.until(redlock.acquire("released"));
    await clock.until(redlock.acquire("expired", { ttlMs: 2000 }));
    await clock.until(redlock.acquire("limited", { ttlMs: 2000, autoExtend: true, maxHoldMs: 3000 }));
    expect(await valuesNow("holdfast.lock.count")).toEqual([[{}, 3]]);
    await clock.advance(1000);
    await clock.until(released.release());
    await clock.advance(5000);
    const unconfirmed = await clock.until(redlock.acquire("unconfirmed"));
    for (const node of nodes) node.fault = () => ({ reject: new Error("down") });
    await clock.until(unconfirmed.release().catch(() => {}));

    expect(await valuesNow("holdfast.lock.count")).toEqual([[{}, 0]]);
    const holds = await valuesNow("holdfast.lock.hold.duration");
    expect(holds).toContainEqual([{}, [1, 1]]);
    expect(holds).toContainEqual([{ "error.type": "LOCK_LOST" }, [2, expect.closeTo(4.9, 0)]]);
    expect(holds).toContainEqual([{ "error.type": "QUORUM_UNREACHABLE" }, [1, 0]]);
    expect(await valuesNow("holdfast.lock.losses")).toEqual([
      [{ "holdfast.lock.loss.reason": "expired" }, 1],
      [{ "holdfast.lock.loss.reason": "max-hold" }, 1],
    ]);
    expect((await valuesNow("holdfast.lock.extensions"))[0]?.[1]).toBeGreaterThan(0);
  });

  it("count failures by node, operation and type of error", async () => {
    const { clock, nodes, redlock, valuesNow } = metered();
    const [a, b] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
    const refused = Object.assign(new Error("connect ECONNREFUSED 10.0.0.1:7001"), { code: "ECONNREFUSED" });
    a.fault = ({ method }) => (method === "acquire" ? { reject: refused } : {});
    const lock = await clock.until(redlock.acquire("r"));
    a.fault = () => ({});
    // Node a rejoins in the first extension, which counts only from the next one on. The retry therefore needs b.
    let extensions = 0;
    b.fault = ({ method }) => (method === "extend" && extensions++ > 0 ? {} : { lose: "request" });
    await clock.until(lock.extend());
    await clock.until(redlock.inspect("r"));
    await clock.advance(100);
    const of = (node: string, operation: string, type: string) => ({
      "holdfast.node.name": node,
      "holdfast.operation.name": operation,
      "error.type": type,
    });
    expect(await valuesNow("holdfast.node.failures")).toEqual([
      [of("a", "acquire", "ECONNREFUSED"), 1],
      [of("b", "extend", "NODE_TIMEOUT"), 1],
      [of("b", "inspect", "NODE_TIMEOUT"), 1],
    ]);
  });

  it("match the README in names, types and units, and have buckets from a millisecond to 15 minutes", async () => {
    const { clock, nodes, redlock, collect } = metered();
    const [a] = nodes as [(typeof nodes)[0]];
    a.fault = () => ({ reject: new Error("down") });
    const lock = await clock.until(redlock.acquire("r"));
    await clock.until(lock.extend());
    await clock.until(lock.release());
    await clock.until(redlock.acquire("lost"));
    await clock.advance(10_000);
    const all = await collect();
    const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
    const rows = readme.matchAll(/^\| `([\w.]+)` \| (histogram|counter|up-down counter) \| `(\S+)` \|/gm);
    const listed = [...rows].map(([, name, type, unit]) => [name, type, unit]);
    expect(listed).toHaveLength(9);
    expect(new Set([...all].map(([name, metric]) => [name, typeOf(metric), metric.descriptor.unit]))).toEqual(
      new Set(listed),
    );
    for (const [name, { descriptor, dataPoints }] of all) {
      expect(descriptor.description, name).toMatch(/^[A-Z].*\.$/);
      if (descriptor.unit !== "s") continue;
      const boundaries = dataPoints.map(({ value }) => (value as Histogram).buckets.boundaries);
      expect([boundaries[0]?.[0], boundaries[0]?.at(-1)], name).toEqual([0.001, 900]);
    }
  });

  it("contain no owner, and a resource only from resourceAttribute, which is called once per lock", async () => {
    const silent = metered();
    await silent.clock.until(silent.redlock.acquire("secret", { label: "host" }));
    expect(JSON.stringify([...(await silent.collect())])).not.toMatch(/secret|host/);

    const asked: string[][] = [];
    const { clock, redlock, valuesNow } = metered({
      resourceAttribute: (resources) => {
        asked.push([...resources]);
        if (resources[0] === "throws") throw new Error("of the user");
        return resources[0]?.startsWith("invoice:") ? `invoice ${asked.length}` : undefined;
      },
    });
    const lock = await clock.until(redlock.acquire("invoice:42"));
    await clock.until(lock.release());
    await clock.until(redlock.acquire(["x", "y"]));
    await clock.until(redlock.acquire("throws"));
    expect(asked).toEqual([["invoice:42"], ["x", "y"], ["throws"]]);
    expect(await valuesNow("holdfast.lock.count")).toEqual([
      [{ "holdfast.lock.resource": "invoice 1" }, 0],
      [{}, 2],
    ]);
  });

  it("go to the global provider, even if it is registered after the observer was created", async () => {
    const redlock = new Redlock([memoryNode()], { observer: openTelemetryObserver() });
    await redlock.using("before", () => {});
    const leader = await redlock.acquire("held meanwhile");
    const { provider, collect } = meterSdk();
    onTestFinished(() => metrics.disable());
    metrics.setGlobalMeterProvider(provider);
    await redlock.using("after", () => {});
    await leader.release();
    const collected = await collect();
    expect(valuesOf(collected.get("holdfast.lock.acquire.attempts"))).toEqual([[outcome("acquired"), [1, 1]]]);
    expect(valuesOf(collected.get("holdfast.lock.count"))).toEqual([[{}, 0]]);
  });
});
