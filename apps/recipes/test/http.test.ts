import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { ConfigurationError, LockHeldError, LockLostError, QueueFullError, WaitTimeoutError } from "@holdfast/core";
import { StaleFenceError } from "@holdfast/ioredis";
import { expect, onTestFinished, test } from "vitest";
import { clientGone, lockAnswer } from "../src/http.ts";

const denied = { node: "a", kind: "denied", retryAfterMs: 1_200 } as const;
const outcomes = [denied, { ...denied, node: "b", retryAfterMs: 2_001 }, { node: "c", kind: "failed" } as const];

test("lockAnswer() says when to retry: after the remaining time of the holder, a second at least and a minute at most", () => {
  const waited = lockAnswer(new WaitTimeoutError("", ["x"], outcomes));
  expect(waited).toEqual({ status: 423, headers: { "retry-after": "3" }, body: { error: "WAIT_TIMEOUT" } });
  const full = lockAnswer(new QueueFullError("", ["x"]));
  expect(full).toEqual({ status: 503, headers: { "retry-after": "1" }, body: { error: "QUEUE_FULL" } });
  const forever = lockAnswer(new LockHeldError("", ["x"], [{ ...denied, retryAfterMs: Infinity }]));
  expect(forever).toEqual({ status: 423, headers: { "retry-after": "60" }, body: { error: "LOCK_HELD" } });
});

test("lockAnswer() is 409 without a Retry-After for work that was begun, and undefined for what no retry repairs", () => {
  const lost = lockAnswer(new LockLostError("", ["x"], "expired", outcomes));
  expect(lost).toEqual({ status: 409, headers: {}, body: { error: "LOCK_LOST" } });
  const stale = lockAnswer(new StaleFenceError("write", "x", 1, 2));
  expect(stale).toEqual({ status: 409, headers: {}, body: { error: "STALE_FENCE" } });
  expect(lockAnswer(new ConfigurationError("", ["x"]))).toBeUndefined();
  expect(lockAnswer(new Error("out of paper"))).toBeUndefined();
});

test("clientGone() aborts if the connection ends before the response, for an answer to the log", async () => {
  const signals = new Map<string | undefined, AbortSignal>();
  const server = createServer(({ url }, response) => {
    signals.set(url, clientGone(response));
    if (url === "/answered") response.end();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await fetch(`${base}/answered`, { headers: { connection: "close" } });
  const client = new AbortController();
  const waiting = fetch(`${base}/awaited`, { signal: client.signal });
  await expect.poll(() => signals.get("/awaited")?.aborted).toBe(false);
  client.abort();
  await expect(waiting).rejects.toThrow("aborted");
  await expect.poll(() => signals.get("/awaited")?.aborted).toBe(true);
  expect(lockAnswer(signals.get("/awaited")?.reason)).toMatchObject({ status: 499, body: { error: "CLIENT_GONE" } });
  expect(signals.get("/answered")?.aborted).toBe(false);
});
