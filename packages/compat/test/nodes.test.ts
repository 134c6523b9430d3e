import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { nodeOver, redlockOver } from "../src/nodes.ts";

const clients = [1, 2].map((port) => new Redis({ port, lazyConnect: true }));

test("nodeOver() waits a second for replies, and opens no connection to listen on", () => {
  const node = nodeOver(clients[0] as Redis, "");
  expect(node.suggestedTimeoutMs).toBe(1_000);
  expect(node.watch).toBeUndefined();
});

test("redlockOver() returns one Redlock for the same clients and prefix, whatever the interval", () => {
  const redlock = redlockOver(clients, "a:", 10);
  expect(redlockOver([...clients], "a:", 20)).toBe(redlock);
  expect(redlockOver(clients, "b:", 10)).not.toBe(redlock);
  expect(redlockOver(clients.slice(1), "a:", 10)).not.toBe(redlock);
});
