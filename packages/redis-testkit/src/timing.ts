import { vi } from "vitest";

/** A deadline that tests wait for. */
export const shortMs = 50;

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
