/**
 * Handles a request under a lock. The handler waits for the lock for at most half a second, and stops when the client
 * disconnects. Then it replies 503 with a `Retry-After`.
 */
import type { Lock, Redlock } from "@holdfast/core";
import type { FastifyInstance, FastifyReply } from "fastify";
import { retryAfterSeconds } from "./retry-after.ts";

/** Shorter than the timeouts of clients and proxies, so that they get the reply of this handler. */
const waitTimeoutMs = 500;

/** The status that nginx logs for a client that has disconnected. */
const clientClosedRequest = 499;

/**
 * Adds `POST /invoices/:id/close`.
 *
 * @param close closes the invoice, and shows `lock.fence` to the database. It continues when the client disconnects: half a
 *   change is worse than a change without a reply
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
 * Returns a signal that aborts if the connection ends before the reply. It watches the response, because the request, and
 * with it Fastify's `request.signal`, ends as soon as the body has been read.
 */
function clientGone({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once("close", () => {
    if (!raw.writableEnded) controller.abort(new Error("the client has gone"));
  });
  return controller.signal;
}
