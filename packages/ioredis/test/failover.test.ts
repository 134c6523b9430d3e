import { acquireRequest, extendRequest, releaseRequest } from "@holdfast/redis-testkit/requests";
import { eventually, ignore } from "@holdfast/redis-testkit/timing";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { Redis as Valkey } from "iovalkey";
import { describe, expect, onTestFinished, test } from "vitest";
import { ioredisNode, type RedisNode } from "../src/index.ts";

type ReconnectOnError = (error: Error) => boolean | 2;

const host = "127.0.0.1";
const libraries = [
  ["ioredis 6", (port: number, reconnectOnError: ReconnectOnError) => new Redis({ host, port, reconnectOnError })],
  ["ioredis 5", (port: number, reconnectOnError: ReconnectOnError) => new Redis5({ host, port, reconnectOnError })],
  ["iovalkey", (port: number, reconnectOnError: ReconnectOnError) => new Valkey({ host, port, reconnectOnError })],
] as const;

/** Connects a client, and swaps its server and a replica. A reconnection leads to the new master. */
async function failedOver(connect: (typeof libraries)[number][1], answer: true | 2) {
  const [demoted, promoted] = [await start(), await start()];
  const seen: string[] = [];
  const client = connect(demoted.port, ({ message }) => {
    seen.push(message);
    return message.includes("READONLY") && answer;
  });
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  await client.ping();
  const node = ioredisNode(client);
  await node.acquire(acquireRequest("alice"));
  await promoted.command("REPLICAOF", "127.0.0.1", demoted.port);
  await eventually(async () => expect(await promoted.command("GET", "lock:r")).toBe("alice"));
  await promoted.command("REPLICAOF", "NO", "ONE");
  await demoted.command("REPLICAOF", "127.0.0.1", promoted.port);
  client.options.port = promoted.port;
  return { node, promoted, seen };
}

async function start(): Promise<RedisServer> {
  const server = await startRedisServer({ args: ["--repl-diskless-sync-delay", "0"] });
  onTestFinished(() => server.stop());
  return server;
}

const writes: [string, (node: RedisNode) => Promise<unknown>][] = [
  ["acquire()", (node) => node.acquire(acquireRequest("bob", { resources: ["s"] }))],
  ["extend()", (node) => node.extend(extendRequest("alice"))],
  ["release()", (node) => node.release(releaseRequest("alice"))],
];

describe.each(libraries)("reconnectOnError of %s", { timeout: 30_000 }, (_, connect) => {
  test.each(writes)("is called when %s rejects because the server became a replica", async (_name, write) => {
    const { node, promoted, seen } = await failedOver(connect, true);
    await expect(write(node)).rejects.toThrow(/^READONLY /);
    expect(seen).toContainEqual(expect.stringMatching(/^READONLY /));
    await eventually(() => write(node));
    expect(String(await promoted.command("INFO", "commandstats"))).toContain("cmdstat_eval");
  });

  test("resends the operations of a call to the new master, except for abandoned ones", async () => {
    const { node, promoted } = await failedOver(connect, 2);
    const acquired = node.acquire(acquireRequest("bob", { resources: ["s"] }));
    ignore(node.acquire(acquireRequest("carol", { resources: ["t"] })));
    await new Promise(process.nextTick);
    ignore(node.release(releaseRequest("carol", ["t"])));
    expect(await acquired).toMatchObject({ granted: true });
    expect(await promoted.command("GET", "lock:s")).toBe("bob");
    expect(await promoted.command("EXISTS", "lock:t")).toBe(0);
  });
});
