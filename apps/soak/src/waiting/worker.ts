/** A process of the waiting stress: runs programs over two `Redlock`s, and tells its parent what they do. */
import { Redlock } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { nodeRedisNode } from "@holdfast/node-redis";
import { createClient } from "@redis/client";
import { Redis } from "ioredis";
import { createDice } from "../dice.ts";
import { heapMb, leftSince } from "../leftovers.ts";
import type { FromWorker, Report, ToWorker, WorkerOrder } from "./messages.ts";
import { run } from "./program.ts";

const programsPerRedlock = 12;

const order = JSON.parse(process.argv[2] ?? "") as WorkerOrder;
process.on("SIGINT", () => {}); // Ctrl-C reaches the whole group: the parent sees to an orderly end
process.on("disconnect", () => process.exit(1)); // the parent has gone
const before = process.getActiveResourcesInfo();

const unanswered = new Map<number, () => void>();
let reports = 0;
let isOver = false;

const redises = order.urls.map((url) => new Redis(url));
const clients = order.urls.map((url) => createClient({ url }));
await Promise.all([...redises.map((redis) => redis.ping()), ...clients.map((client) => client.connect())]);
const nodeLists = [redises.map((redis) => ioredisNode(redis)), clients.map((client) => nodeRedisNode(client))];
// Generous: a machine that is busy with something else is no finding.
const redlocks = nodeLists.map((nodes) => new Redlock(nodes, { ttlMs: 30_000, nodeTimeoutMs: 5_000 }));
const programs = redlocks.flatMap((redlock, index) =>
  Array.from({ length: programsPerRedlock }, (_, program) => ({
    name: `${order.name}.${index + 1}.${program + 1}`,
    redlock,
    dice: createDice(order.seed * 1_000 + index * 100 + program),
    report,
  })),
);

process.on("message", (message: ToWorker) => {
  if (message.kind === "noted") {
    unanswered.get(message.id)?.();
    unanswered.delete(message.id);
  } else if (message.kind === "stop") isOver = true;
  else void obey[message.kind]();
});
const obey = {
  async work(): Promise<void> {
    isOver = false;
    await Promise.all(
      programs.map(async (program) => {
        try {
          await run(program, () => isOver);
        } catch (error) {
          const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
          tell({ kind: "failed", program: program.name, message });
        }
      }),
    );
    tell({ kind: "drained" });
  },
  async measure(): Promise<void> {
    tell({ kind: "measured", heapMb: await heapMb() });
  },
  async close(): Promise<void> {
    await Promise.all(nodeLists.flat().map((node) => node.close()));
    for (const redis of redises) redis.disconnect();
    for (const client of clients) client.destroy();
    tell({ kind: "closed", left: await leftSince(before) });
    // Nothing but the channel to the parent keeps this process alive now.
    process.removeAllListeners("disconnect");
    process.disconnect?.();
  },
};

tell({ kind: "ready" });

function report(report: Report): Promise<void> {
  reports += 1;
  const id = reports;
  tell({ kind: "report", id, report });
  return new Promise((resolve) => unanswered.set(id, resolve));
}

function tell(message: FromWorker): void {
  process.send?.(message);
}
