import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import { Redlock } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { afterAll, expect, test } from "vitest";
import { redlock5 } from "./libraries/others.ts";
import { startServers } from "./servers.ts";

const servers = await startServers(3);
const ports = servers.map(({ port }) => port);
const clients = await connectIoredis(ports);
const nodes = clients.map((client) => ioredisNode(client, { prefix: "" }));
const holdfast = new Redlock(nodes, { nodeTimeoutMs: 5_000, waitTimeoutMs: 60_000 });
const foreign = await redlock5.connect(ports);
const ttlMs = 60_000;
afterAll(() => {
  foreign.close();
  disconnect(clients);
});

test("inspect() shows the lock of another library, without a token", async () => {
  const lock = await foreign.tryLock(["never ours"], ttlMs);
  const views = () => holdfast.inspect("never ours").then(({ nodes }) => nodes.map(({ view }) => view));
  const expected = servers.map(() => expect.objectContaining({ owner: lock?.value, fence: 0 }));
  await expect.poll(views).toEqual(expected);
});

test("acquire() waits for the lock of another library, and gets it after its release", async () => {
  const lock = await foreign.tryLock(["awaited"], ttlMs);
  expect(await holdfast.tryAcquire("awaited")).toBeNull();
  const waiting = holdfast.acquire("awaited");
  await lock?.release();
  expect((await waiting).remainingMs()).toBeGreaterThan(0);
});
