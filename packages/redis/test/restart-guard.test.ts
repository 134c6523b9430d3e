import { allow, documentedPermissions, user } from "@holdfast/redis-testkit/permissions";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "@holdfast/redis-testkit/requests";
import { eventually } from "@holdfast/redis-testkit/timing";
import type { RedisServer } from "@holdfast/testkit";
import { describe, expect, test } from "vitest";
import { lockNames, type RedisNode, type RedisNodeOptions, redisNode } from "../src/index.ts";
import { clientOf, connectionOver, serverForTest } from "./connection.ts";

/** The shortest sensible guard, as servers report their uptime in seconds. */
const shortGuard = { restartGuardMs: 1_000 };
const longGuard = { restartGuardMs: longMs };

async function nodeOn(server: RedisServer, options: RedisNodeOptions, login: object = {}): Promise<RedisNode> {
  return redisNode(connectionOver(await clientOf(server, { ...login, retryStrategy: () => 5 })), options);
}

async function uptimeOf({ command }: RedisServer): Promise<number> {
  return Number(/uptime_in_seconds:(\d+)/.exec(String(await command("INFO", "server")))?.[1]);
}

describe("restartGuardMs", { timeout: 30_000 }, () => {
  test("ends no earlier than this time after the start of the server, which then votes again", async () => {
    const server = await serverForTest();
    const node = await nodeOn(server, shortGuard);
    await eventually(() => node.acquire(acquireRequest("alice", { ttlMs: 1_000 })));
    // An uptime of two seconds is at least one second.
    expect(await uptimeOf(server)).toBeGreaterThanOrEqual(2);
    expect(await node.inspect("r")).not.toHaveProperty("recoveringMs");
  });

  test("makes acquire() reject until then and leave nothing behind; the others work, and inspect() reports it", async () => {
    const server = await serverForTest();
    const { acquire, extend, release, inspect } = await nodeOn(server, longGuard);
    for (const terms of [{}, { takeover: "bob" }, { resources: ["a", "b"] }]) {
      await expect(acquire(acquireRequest("alice", terms))).rejects.toThrow(
        /^recovering from a restart, \d+\.\d s left$/,
      );
    }
    expect(await server.command("DBSIZE")).toBe(0);
    expect(await extend(extendRequest("alice", { fence: 7 }))).toEqual({ held: false, rejoined: false });
    const again = { held: false, rejoined: true };
    expect(await extend(extendRequest("alice", { fence: 7, rejoin: true }))).toEqual(again);
    expect(await extend(extendRequest("alice", { fence: 8 }))).toEqual(again);
    const { recoveringMs, ...view } = await inspect("r");
    expect(view).toMatchObject({ owner: "alice", fence: 8 });
    expect(recoveringMs).toBeGreaterThan(longMs - 60_000);
    expect(recoveringMs).toBeLessThanOrEqual(longMs + 1_000);
    expect(await release(releaseRequest("alice"))).toEqual({ released: true });
  });

  test("prevents a rejoined claim from counting as held until the guard ends", async () => {
    const server = await serverForTest();
    const request = extendRequest("alice", { fence: 7, rejoin: true });
    const recovering = await nodeOn(server, longGuard);
    expect(await recovering.extend(request)).toEqual({ held: false, rejoined: true });
    expect(await recovering.extend(request)).toEqual({ held: false, rejoined: true });
    const node = await nodeOn(server, shortGuard);
    await eventually(async () => expect(await node.extend({ ...request, ttlMs: 1_000 })).toMatchObject({ held: true }));
    // An uptime of two seconds is at least one second.
    expect(await uptimeOf(server)).toBeGreaterThanOrEqual(2);
    expect(await recovering.extend(request)).toMatchObject({ held: true });
  });

  test.each<[string, (other: string, node: RedisNode) => Promise<unknown>]>([
    ["locks", (other, { acquire }) => acquire(acquireRequest("bob", { resources: [other] }))],
    ["locks with waiters", (other, { acquire }) => acquire(acquireRequest("bob", { resources: [other], waiter: "w" }))],
    ["extends", (other, { extend }) => extend(extendRequest("bob", { resources: [other], rejoin: true }))],
  ])("lasts for a rejoined claim though a client without it %s another name of its counter", async (_, use) => {
    const server = await serverForTest();
    const request = extendRequest("alice", { fence: 7, rejoin: true });
    const [recovering, unguarded] = [await nodeOn(server, longGuard), await nodeOn(server, {})];
    expect(await recovering.extend(request)).toEqual({ held: false, rejoined: true });
    const { fence } = lockNames("lock:", "r");
    const names = Array.from({ length: 200_000 }, (_, index) => `other ${index}`);
    const other = names.find((name) => lockNames("lock:", name).fence === fence) as string;
    await use(other, unguarded);
    expect(await server.command("GET", fence)).toBe("08");
    expect(await recovering.extend(request)).toEqual({ held: false, rejoined: true });
  });

  test("counts a claim that the server has persisted", async () => {
    const server = await serverForTest();
    const unguarded = await nodeOn(server, {});
    const reply = await unguarded.acquire(acquireRequest("alice"));
    const node = await nodeOn(server, longGuard);
    const fence = reply.granted ? reply.fence : undefined;
    expect(await node.extend(extendRequest("alice"))).toEqual({ held: true, fence });
  });

  test("rejects a longer ttl, as a claim could outlast the guard", async () => {
    const node = await nodeOn(await serverForTest(), shortGuard);
    const tooLong = "ttlMs must not be longer than the restartGuardMs of the node, 1000, not 1001";
    await expect(node.acquire(acquireRequest("alice", { ttlMs: 1_001 }))).rejects.toThrow(tooLong);
    await expect(node.extend(extendRequest("alice", { ttlMs: 1_001 }))).rejects.toThrow(tooLong);
  });

  test("without the permission +info makes only acquire() and inspect() reject, naming it", async () => {
    const server = await serverForTest();
    await allow(
      server,
      (await documentedPermissions()).filter((permission) => permission !== "+info"),
    );
    const node = await nodeOn(server, longGuard, user);
    const needed = "the server does not report its uptime: the option restartGuardMs needs the permission +info";
    await expect(node.acquire(acquireRequest("alice"))).rejects.toThrow(needed);
    await expect(node.inspect("r")).rejects.toThrow(needed);
    expect(await node.extend(extendRequest("alice", { rejoin: true }))).toMatchObject({ rejoined: true });
    const unguarded = await nodeOn(server, {}, user);
    expect(await unguarded.acquire(acquireRequest("bob"))).toMatchObject({ granted: false });
  });
});
