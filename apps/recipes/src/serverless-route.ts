/**
 * Handles a route as in Next.js: a function that the platform starts, freezes after the response, thaws for the next
 * request, and ends without notice.
 *
 * - The clients belong to the instance, not to the request, because a connection costs more than a lock.
 * - The ttl is as long as the platform lets the function run, without extension, so that no timer is needed. If the platform
 *   ends the function early, the lock is free soon after.
 * - The lock is released before the response is returned. After the response, the instance may never run again.
 */
import { Redis } from "ioredis";
import { fencedValues } from "./fenced-values.ts";
import { openLocks } from "./locks.ts";
import { retryAfterSeconds } from "./retry-after.ts";

/** The seconds after which the platform ends the function. */
export const maxDuration = 10;

/** A tenth more than the function can run, because the attempt and the clock drift shorten the validity. */
const ttlMs = maxDuration * 1_100;

/** Long enough to reconnect after a thaw, and short enough to pay for. */
const waitTimeoutMs = 1_000;

const { redlock } = await openLocks((process.env.LOCK_SERVERS ?? "").split(","));
const invoices = fencedValues(new Redis(process.env.DATA_SERVER ?? ""));

/** Closes the invoice that the body names. */
export async function POST(request: Request): Promise<Response> {
  const { invoice } = (await request.json()) as { invoice: string };
  const key = `invoice:${invoice}`;
  const options = { ttlMs, waitTimeoutMs, autoExtend: false, signal: request.signal };
  try {
    return await redlock.using(key, options, async ({ fence }) => {
      const [state] = await invoices.read([key], fence);
      if (state !== "closed") await invoices.write({ [key]: "closed" }, fence);
      return Response.json({ invoice, was: state ?? "open", is: "closed" });
    });
  } catch (error) {
    const seconds = retryAfterSeconds(error);
    if (seconds === undefined) throw error;
    return Response.json({ error: "busy" }, { status: 503, headers: { "retry-after": String(seconds) } });
  }
}
