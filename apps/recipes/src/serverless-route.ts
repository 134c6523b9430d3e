/**
 * A route handler as Next.js and others call it: a function that the platform starts, freezes after the response, thaws for
 * the next request, and ends without notice.
 *
 * - The clients are made once for each instance, and not for each request: a connection costs more than a lock.
 * - The lock is made for as long as the platform lets the function run, and not extended: it needs no timer. Where the
 *   function is ended on its way, the lock is free soon after.
 * - The release has been answered before the response is made. After it, nothing may ever run again.
 */
import { Redis } from "ioredis";
import { fencedValues } from "./fenced-values.ts";
import { openLocks } from "./locks.ts";
import { retryAfterSeconds } from "./retry-after.ts";

/** After how many seconds the platform ends the function. */
export const maxDuration = 10;

/** A tenth more than the function can use, for what is lost of a ttl: the attempt itself, and the allowance for clock drift. */
const ttlMs = maxDuration * 1_100;

/** Time enough to connect again after a thaw, and little enough to be paid for. */
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
