import { vi } from "vitest";

/** A timeout that tests let pass. */
export const shortMs = 50;

/** Retries an assertion until it passes. */
export async function eventually<T>(assertion: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(async () => assertion(), { timeout: 30_000, interval: 5 });
}

/** Waits until a timeout of `ms` started before this call has certainly expired. */
export async function pass(ms: number): Promise<void> {
  await new Promise(setImmediate); // requests of this tick are sent, and their timeouts have started
  for (const end = performance.now() + ms + 10; performance.now() < end; ) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await new Promise(setImmediate); // a timeout whose timer has run in this turn takes effect at its end
}

/** Ignores a rejection: the test checks the outcome on the server. */
export function ignore(reply: Promise<unknown>): void {
  reply.catch(() => {});
}
