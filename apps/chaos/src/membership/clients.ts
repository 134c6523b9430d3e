import { setTimeout as sleep } from "node:timers/promises";
import type { Journal } from "../history/journal.ts";
import type { Client } from "../world/client.ts";
import { nameOf, type Stage } from "../world/stages.ts";

/** How long a client may wait for its first lock at a stage, in milliseconds. */
const patienceMs = 90_000;

/** Takes all clients to another stage, one after another, and resolves when the locks of the former stage have ended. */
export async function enterAll(clients: readonly Client[], stage: Stage, durationMs: number): Promise<void> {
  const entered = clients.map(async (client, index) => {
    await sleep((durationMs * index) / clients.length);
    await client.enter(stage, index % 2 === 0 ? "second Redlock" : "restart");
  });
  await Promise.all(entered);
}

/** Waits until each client has got a lock at this stage, and returns the clients that have got none in time. */
export async function allServed(clients: readonly Client[], stage: Stage, { granted }: Journal): Promise<string[]> {
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    const served = new Set(granted.filter((grant) => grant.stage === nameOf(stage)).map(({ client }) => client));
    const waiting = clients.map(({ name }) => name).filter((name) => !served.has(name));
    if (waiting.length === 0 || performance.now() > deadlineMs) return waiting;
    await sleep(50);
  }
}
