import { randomUUID } from "node:crypto";
import type { AcquireRequest, ExtendRequest, ReleaseRequest } from "@holdfast/core";
import { onTestFinished } from "vitest";
import { type EtcdNode, type EtcdNodeOptions, etcdNode } from "../src/index.ts";

/** Creates a node that ends with the test. */
export function node(options: EtcdNodeOptions): EtcdNode {
  const created = etcdNode({ prefix: `test ${randomUUID()}/`, ...options });
  onTestFinished(() => created.close());
  return created;
}

export function acquire(owner: string, given: Partial<AcquireRequest> = {}): AcquireRequest {
  return { resources: ["r"], owner, ttlMs: 60_000, timeoutMs: 10_000, fenceHint: 1, ...given };
}

export function extend(owner: string, given: Partial<ExtendRequest> = {}): ExtendRequest {
  return { resources: ["r"], owner, ttlMs: 60_000, timeoutMs: 10_000, fence: 1, rejoin: false, ...given };
}

export function release(owner: string, given: Partial<ReleaseRequest> = {}): ReleaseRequest {
  return { resources: ["r"], owner, timeoutMs: 10_000, ...given };
}
