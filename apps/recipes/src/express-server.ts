/** An Express server whose requests lock what they change. */
import { ioredisFencedStore } from "@holdfast/ioredis";
import express, { type ErrorRequestHandler } from "express";
import { Redis } from "ioredis";
import { clientGone, lockAnswer } from "./http.ts";
import { closeInvoice } from "./invoices.ts";
import { openLocks } from "./locks.ts";

/** Shorter than the timeouts of clients and proxies, so that they get the answer of this server. */
const waitTimeoutMs = 500;

const { redlock, close } = openLocks((process.env.LOCK_SERVERS ?? "").split(","));
const data = new Redis(process.env.DATA_SERVER ?? "").on("error", console.error);
const store = ioredisFencedStore(data);
const app = express();

app.post("/invoices/:id/close", async ({ params: { id } }, response) => {
  const options = { waitTimeoutMs, signal: clientGone(response) };
  response.json(await redlock.using(`invoice:${id}`, options, (lock) => closeInvoice(store, id, lock)));
});

app.get("/health", async (_request, response) => {
  const health = await redlock.health();
  response.status(health.ok ? 200 : 503).json(health);
});

const answerLockErrors: ErrorRequestHandler = (error, _request, response, next) => {
  const answer = lockAnswer(error);
  if (answer === undefined || response.headersSent) return next(error);
  response.status(answer.status).set(answer.headers).json(answer.body);
};
app.use(answerLockErrors); // after all routes

const server = app.listen(Number(process.env.PORT), process.env.HOST ?? "0.0.0.0");

// Requests in progress finish and release their locks. Then nothing keeps the process alive.
process.once("SIGTERM", () => {
  server.close(async () => {
    await close();
    data.disconnect();
  });
});
