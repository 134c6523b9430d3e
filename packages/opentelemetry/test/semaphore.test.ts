import { semaphore } from "@holdfast/core/semaphore";
import { openTelemetrySemaphoreObserver } from "@holdfast/opentelemetry";
import { expect, test } from "vitest";
import { meterSdk, observedWorld, valuesOf } from "./telemetry.ts";

test("openTelemetrySemaphoreObserver() records calls, permits, holds and losses", async () => {
  const { provider, collect } = meterSdk();
  const { clock, nodes, redlock } = observedWorld({});
  const meter = provider.getMeter("test");
  const observer = openTelemetrySemaphoreObserver({ meter, nameAttribute: (name) => name });
  const api = semaphore(redlock, "api", 3, { observer });
  const first = await clock.until(api.acquire(2));
  const second = await clock.until(api.acquire(1, { ttlMs: 1_000 }));
  const name = { "holdfast.semaphore.name": "api" };
  expect(await clock.until(api.tryAcquire())).toBeNull();
  expect(valuesOf((await collect()).get("holdfast.semaphore.permits"))).toEqual([[name, 3]]);

  for (const node of nodes)
    node.fault = ({ method }) => (method === "extend" ? { reject: new Error("no") } : undefined);
  await clock.advance(2_000); // the second one expires
  expect(second.remainingMs()).toBe(0);
  await clock.until(second.release());
  await clock.until(first.release());
  const all = await collect();
  expect(valuesOf(all.get("holdfast.semaphore.permits"))).toEqual([[name, 0]]);
  expect(valuesOf(all.get("holdfast.semaphore.acquire.duration"))).toEqual([
    [{ ...name, "holdfast.lock.outcome": "acquired" }, [2, 0]],
    [{ ...name, "holdfast.lock.outcome": "held" }, [1, 0]],
  ]);
  expect(valuesOf(all.get("holdfast.semaphore.losses"))).toEqual([
    [{ ...name, "holdfast.lock.loss.reason": "expired" }, 1],
  ]);
  expect(valuesOf(all.get("holdfast.semaphore.hold.duration"))).toEqual([
    [{ ...name, "error.type": "LOCK_LOST" }, [1, 0.988]],
    [name, [1, 2]],
  ]);
});
