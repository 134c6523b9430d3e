import type { AcquireRequest, ExtendRequest, ReleaseRequest } from "@holdfast/core";
import { vi } from "vitest";

/** Longer than any test. */
export const longMs = 600_000;

/** A deadline that tests wait for. */
export const shortMs = 50;

/** An `acquire` of the resource "r" that nothing hurries. */
export function acquireRequest(owner: string, terms: Partial<AcquireRequest> = {}): AcquireRequest {
  return { resources: ["r"], owner, ttlMs: longMs, fenceHint: 1, timeoutMs: longMs, ...terms };
}

/** An `extend` of the resource "r" that nothing hurries. */
export function extendRequest(owner: string, terms: Partial<ExtendRequest> = {}): ExtendRequest {
  return { resources: ["r"], owner, ttlMs: longMs, fence: 1, rejoin: false, timeoutMs: longMs, ...terms };
}

/** A `release` of the resource "r", unless told otherwise. */
export function releaseRequest(owner: string, resources: readonly string[] = ["r"]): ReleaseRequest {
  return { resources, owner, timeoutMs: longMs };
}

/** Waits for something that must happen. */
export async function eventually<T>(assertion: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(async () => assertion(), { timeout: 30_000, interval: 5 });
}

/** Waits until a deadline this far ahead has certainly been noticed. */
export async function pass(ms: number): Promise<void> {
  for (const end = performance.now() + ms + 10; performance.now() < end; ) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** For a call whose outcome is looked for on the server. */
export function ignore(reply: Promise<unknown>): void {
  reply.catch(() => {});
}
