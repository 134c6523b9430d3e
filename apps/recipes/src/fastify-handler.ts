/**
 * Handles a request under a lock. The handler waits for the lock for at most half a second, and stops when the client
 * disconnects. Then it replies with the status of the error, and a `Retry-After`.
 */
import type { Lock, Redlock } from "@holdfast/core";
import type { FastifyInstance } from "fastify";
import { clientGone, lockAnswer } from "./http.ts";

/** Shorter than the timeouts of clients and proxies, so that they get the reply of this handler. */
const waitTimeoutMs = 500;

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
    const signal = clientGone(reply.raw);
    try {
      return await redlock.using(`invoice:${id}`, { waitTimeoutMs, signal }, (lock) => close(id, lock));
    } catch (error) {
      const answer = lockAnswer(error);
      if (answer === undefined) throw error;
      return reply.code(answer.status).headers(answer.headers).send(answer.body);
    }
  });
}
