/**
 * A request handler that works under a lock. It waits for half a second at the most, since the client waits, too, and no
 * longer than the client does; then it answers 503 with a `Retry-After`.
 */
import type { Lock, Redlock } from "@holdfast/core";
import type { FastifyInstance, FastifyReply } from "fastify";
import { retryAfterSeconds } from "./retry-after.ts";

/** Shorter than the time-outs of clients and proxies, so that it is this handler that answers. */
const waitTimeoutMs = 500;

/** nginx's status for a client that has gone. Nobody gets it; the log does. */
const clientClosedRequest = 499;

/**
 * Adds `POST /invoices/:id/close`.
 *
 * @param close does it, and shows `lock.fence` to the database. It goes on when the client goes: half a change is worse
 *   than one that nobody hears of
 */
export function addInvoiceRoutes(
  app: FastifyInstance,
  redlock: Redlock,
  close: (id: string, lock: Lock) => Promise<object>,
): void {
  app.post<{ Params: { id: string } }>("/invoices/:id/close", async (request, reply) => {
    const { id } = request.params;
    const signal = clientGone(reply);
    try {
      return await redlock.using(`invoice:${id}`, { waitTimeoutMs, signal }, (lock) => close(id, lock));
    } catch (error) {
      if (error === signal.reason) return reply.code(clientClosedRequest).send();
      const seconds = retryAfterSeconds(error);
      if (seconds === undefined) throw error;
      return reply.code(503).header("retry-after", seconds).send({ error: "busy", retryAfterSeconds: seconds });
    }
  });
}

/**
 * Aborts when the connection ends before there is an answer. It goes by the response. The request, and with it Fastify's
 * `request.signal`, ends as soon as the body has been read, which tells nothing of the client.
 */
function clientGone({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once("close", () => {
    if (!raw.writableEnded) controller.abort(new Error("the client has gone"));
  });
  return controller.signal;
}
