/**
 * Handles a route as in Next.js: a function that the platform starts, freezes after the response, thaws for the next
 * request, and ends without notice.
 *
 * - The clients belong to the instance, not to the request, because a connection costs more than a lock.
 * - The ttl is as long as the platform lets the function run, without extension, so that no timer is needed. If the platform
 *   ends the function early, the lock is free soon after.
 * - The lock is released before the response is returned. After the response, the instance may never run again.
 */
import { type FencedStore, ioredisFencedStore } from "@holdfast/ioredis";
import { Redis } from "ioredis";
import { lockAnswer } from "./http.ts";
import { closeInvoice } from "./invoices.ts";
import { type Locks, openLocks } from "./locks.ts";

/** The seconds after which the platform ends the function. */
export const maxDuration = 10;

/** A tenth more than the function can run, because the attempt and the clock drift shorten the validity. */
const ttlMs = maxDuration * 1_100;

/** Long enough to reconnect after a thaw, and short enough to pay for. */
const waitTimeoutMs = 1_000;

interface Clients {
  readonly locks: Locks;
  readonly store: FencedStore;
}

function connect(): Clients {
  const data = new Redis(process.env.DATA_SERVER ?? "").on("error", console.error);
  return { locks: openLocks((process.env.LOCK_SERVERS ?? "").split(",")), store: ioredisFencedStore(data) };
}

/** Global, because in development Next.js loads this module again after each change. */
const instance = globalThis as { clients?: Clients };

/** Closes the invoice that the body names. */
export async function POST(request: Request): Promise<Response> {
  const { invoice } = (await request.json()) as { invoice: string };
  instance.clients ??= connect(); // not when the module is loaded, as `next build` does that, too
  const { locks, store } = instance.clients;
  const options = { ttlMs, waitTimeoutMs, autoExtend: false, awaitRelease: true, signal: request.signal };
  try {
    const closed = await locks.redlock.using(`invoice:${invoice}`, options, (lock) =>
      closeInvoice(store, invoice, lock),
    );
    return Response.json(closed);
  } catch (error) {
    const answer = lockAnswer(error);
    if (answer === undefined) throw error;
    return Response.json(answer.body, { status: answer.status, headers: answer.headers });
  }
}
