import type { AddressInfo } from "node:net";
import { type AcquireFailedEvent, type Lock, Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { addInvoiceRoutes } from "../src/fastify-handler.ts";

/** A real server, and the lock of its invoices as another process sees it. */
async function startService() {
  const nodes = [memoryNode(), memoryNode(), memoryNode()];
  const seen = { isHeld: deferred<void>(), gaveUp: deferred<AcquireFailedEvent>() };
  const redlock = new Redlock(nodes, {
    observer: {
      attemptSettled: ({ outcome }) => void (outcome === "held" && seen.isHeld.resolve()),
      acquireFailed: (event) => seen.gaveUp.resolve(event),
    },
  });
  const app = fastify({ forceCloseConnections: true }); // the client keeps connections open for seconds
  addInvoiceRoutes(app, redlock, async (id: string, lock: Lock) => ({ id, fence: lock.fence }));
  await app.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  const close = (id: string, signal?: AbortSignal) =>
    fetch(`http://127.0.0.1:${port}/invoices/${id}/close`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ reason: "paid" }),
      ...(signal && { signal }),
    });
  return { close, seen, other: new Redlock(nodes) };
}

function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

test("addInvoiceRoutes() handles a request under the lock, and releases the lock before the reply", async () => {
  const { close, other } = await startService();
  const response = await close("42");
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ id: "42", fence: expect.any(Number) });
  expect((await other.inspect("invoice:42")).state).toBe("free");
});

test("addInvoiceRoutes() replies 423 with a Retry-After while another client holds the lock, and serves other invoices", async () => {
  const { close, other } = await startService();
  const lock = await other.acquire("invoice:42", { ttlMs: 60_000 });
  const response = await close("42");
  expect(response.status).toBe(423);
  const seconds = Number(response.headers.get("retry-after"));
  expect(seconds).toBeGreaterThan(1);
  expect(seconds).toBeLessThanOrEqual(60);
  expect(await response.json()).toEqual({ error: "WAIT_TIMEOUT" });
  expect((await close("43")).status).toBe(200);
  await lock.release();
  expect((await close("42")).status).toBe(200);
});

test("addInvoiceRoutes() stops waiting when the client has disconnected", async () => {
  const { close, seen, other } = await startService();
  const lock = await other.acquire("invoice:42");
  const client = new AbortController();
  const response = close("42", client.signal);
  await seen.isHeld.promise;
  client.abort();
  await expect(response).rejects.toThrow("aborted");
  const { error } = await seen.gaveUp.promise;
  expect(error).toMatchObject({ message: "the client has gone" });
  await lock.release();
  expect((await other.inspect("invoice:42")).state).toBe("free");
});
