import { Redlock } from "@holdfast/core";
import { semaphore } from "@holdfast/core/semaphore";
import { ioredisNode } from "@holdfast/ioredis";
import { Redis } from "ioredis";
import { RedlockSemaphore } from "redis-semaphore";
import { expect, onTestFinished, test } from "vitest";
import { startServers } from "./servers.ts";

const servers = await startServers(3);

/** Opens a connection to each server, until the end of the test. */
async function connect(): Promise<Redis[]> {
  const clients = servers.map(({ port }) => new Redis({ port }));
  onTestFinished(() => clients.forEach((client) => void client.disconnect()));
  await Promise.all(clients.map((client) => client.ping()));
  return clients;
}

/** Makes scripts wait for their turn: at each server, the clients arrive in the order given, without any fault. */
class Arrivals {
  readonly #order: readonly (readonly number[])[];
  readonly #arrived: number[];
  readonly #waiting: (() => void)[] = [];

  constructor(order: readonly (readonly number[])[]) {
    this.#order = order;
    this.#arrived = order.map(() => 0);
  }

  /** Returns the connection of a client to a server, whose first script arrives in the order of the server. */
  of(client: number, server: number, connection: Redis): Redis {
    let isFirst = true;
    const send = async (name: "eval" | "evalsha", args: unknown[]): Promise<unknown> => {
      const isCounted = isFirst;
      isFirst = false;
      while (isCounted && this.#order[server]?.[this.#arrived[server] ?? 0] !== client) {
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
      try {
        // As the library does if the server does not know the script yet.
        return await (connection[name] as (...args: unknown[]) => Promise<unknown>)(...args);
      } finally {
        if (isCounted) this.#arrived[server] = (this.#arrived[server] ?? 0) + 1;
        for (const wake of this.#waiting.splice(0)) wake();
      }
    };
    return new Proxy(connection, {
      get: (target, name) => {
        if (name === "eval" || name === "evalsha") return (...args: unknown[]) => send(name, args);
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }
}

test("RedlockSemaphore of redis-semaphore admits three holders of two permits, Holdfast's semaphore() two", async () => {
  // A script that the server does not know is sent twice, which would spoil the order.
  const warmUp = new RedlockSemaphore(await connect(), "warm-up", 2);
  await warmUp.acquire();
  await warmUp.release();
  const arrivals = new Arrivals([
    [0, 1, 2],
    [1, 2, 0],
    [2, 0, 1],
  ]);
  const theirs = await Promise.all(
    [0, 1, 2].map(async (index) => {
      const clients = (await connect()).map((connection, server) => arrivals.of(index, server, connection));
      return new RedlockSemaphore(clients, "api", 2, { acquireAttemptsLimit: 1, lockTimeout: 60_000 });
    }),
  );
  expect(await Promise.all(theirs.map((each) => each.tryAcquire()))).toEqual([true, true, true]);
  await Promise.all(theirs.map((each) => each.release()));

  const ours = await Promise.all(
    [0, 1, 2].map(async () => {
      const nodes = (await connect()).map((client) => ioredisNode(client));
      return semaphore(new Redlock(nodes, { nodeTimeoutMs: 2_000 }), "api", 2);
    }),
  );
  const held = await Promise.all(ours.map((each) => each.acquire(1, { waitTimeoutMs: 500 }).catch(() => null)));
  expect(held.filter((permits) => permits !== null)).toHaveLength(2);
  await Promise.all(held.map((permits) => permits?.release()));
});
