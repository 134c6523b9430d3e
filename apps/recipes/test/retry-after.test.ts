import { LockLostError, QueueFullError, WaitTimeoutError } from "@holdfast/core";
import { expect, test } from "vitest";
import { retryAfterSeconds } from "../src/retry-after.ts";

test("retryAfterSeconds() is the remaining time of the holder, and undefined when a retry cannot help", () => {
  const denied = { node: "a", kind: "denied", retryAfterMs: 1_200 } as const;
  const outcomes = [denied, { ...denied, node: "b", retryAfterMs: 2_001 }, { node: "c", kind: "failed" } as const];
  expect(retryAfterSeconds(new WaitTimeoutError("", ["x"], outcomes))).toBe(3);
  expect(retryAfterSeconds(new QueueFullError("", ["x"]))).toBe(1);
  expect(retryAfterSeconds(new LockLostError("", ["x"], "expired", outcomes))).toBeUndefined();
  expect(retryAfterSeconds(new Error("out of paper"))).toBeUndefined();
});
