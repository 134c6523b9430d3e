import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import { startRedisServer } from "@holdfast/testkit";
import type { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { memoryDatabase, redisDatabase } from "../src/database.ts";

async function onServer() {
  const server = await startRedisServer();
  onTestFinished(() => server.stop());
  const clients = await connectIoredis([server.port]);
  onTestFinished(() => disconnect(clients));
  return redisDatabase(clients[0] as Redis);
}

test.each([
  ["memoryDatabase()", memoryDatabase],
  ["redisDatabase()", onServer],
])("%s has counters, and those that are shown a token by reads and writes refuse smaller ones", async (_name, open) => {
  const database = await open();
  expect(await database.read("plain")).toBe(0);
  await database.write("plain", 5);
  await database.write("plain", 4);
  expect(await database.read("plain")).toBe(4);

  expect(await database.read("fenced", 7)).toBe(0);
  await database.write("fenced", 1, 7);
  expect(await database.read("fenced", 9)).toBe(1);
  await expect(database.write("fenced", 2, 8)).rejects.toMatchObject({ newestFence: 9 });
  await database.write("fenced", 3, 9);
  await expect(database.read("fenced", 8)).rejects.toMatchObject({ newestFence: 9 });
  expect(await database.read("fenced")).toBe(3);
});
