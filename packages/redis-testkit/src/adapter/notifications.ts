import type { LockNode } from "@holdfast/core";
import type { RedisServer } from "@holdfast/testkit";
import { expect, onTestFinished, test, vi } from "vitest";
import { comeBack, lockKey, type Tools } from "../adapter-tools.ts";
import { acquireRequest, releaseRequest } from "../requests.ts";
import { eventually, pass, shortMs } from "../timing.ts";

/** Tests watches that survive the loss of their connection. */
export function watchReconnection({ server, connected }: Tools): void {
  test("watch() reports releases again after its connection was cut", async () => {
    const { port, command } = await server();
    const [{ node }, rival] = [await connected(port), await connected(port)];
    const heard = vi.fn();
    await node.watch?.(["r"], heard);
    await command("CLIENT", "KILL", "TYPE", "pubsub");
    await eventually(async () => expect(await subscribersOf(command)).toBe(1));
    await expectHeard(heard, rival.node);
  });

  test("watch() reports releases again after a restart of the server, and logs no errors", async () => {
    const log = vi.spyOn(console, "error");
    onTestFinished(() => log.mockRestore());
    const mortal = await server();
    const client = await connected(mortal.port);
    const heard = vi.fn();
    await client.node.watch?.(["r"], heard);
    await mortal.restart();
    await comeBack(client);
    await eventually(async () => expect(await subscribersOf(mortal.command)).toBe(1));
    await expectHeard(heard, client.node);
    expect(log).not.toHaveBeenCalled();
  });

  test("watch() that starts during a reconnection reports releases", async () => {
    const hanging = await server();
    const { node } = await connected(hanging.port);
    await node.watch?.(["other"], () => {});
    await hanging.command("CLIENT", "KILL", "TYPE", "pubsub");
    hanging.pause();
    await pass(shortMs);
    const heard = vi.fn();
    const watching = node.watch?.(["r"], heard);
    await pass(shortMs);
    hanging.resume();
    await watching;
    await expectHeard(heard, node);
  });
}

/** Tests watches over a connection that is open but silent. */
export function silentSubscriber({ server, connected, behindProxy }: Tools): void {
  test("watches that start and end while the server hangs leave at most one command queued", async () => {
    const hanging = await server();
    const { node } = await connected(hanging.port);
    const heard = vi.fn();
    await node.watch?.(["r"], heard);
    const ends = await Promise.all(["a", "b", "c"].map((resource) => node.watch?.([resource], () => {})));
    await hanging.command("CONFIG", "RESETSTAT");
    hanging.pause();
    const watches = Array.from({ length: 1_000 }, (_, i) => node.watch?.([`r${i}`], () => {}));
    for (const unwatch of ends) await unwatch?.();
    for (const watch of watches) await expect(watch).rejects.toThrow("did not confirm the subscription within 2000 ms");
    hanging.resume();
    await eventually(async () => expect(await subscribersOf(hanging.command)).toBe(1));
    await expectHeard(heard, node);
    // One was in flight, and the next connection subscribes to the remaining channels.
    const stats = String(await hanging.command("INFO", "commandstats"));
    expect(Number(/cmdstat_subscribe:calls=(\d+)/.exec(stats)?.[1])).toBeLessThanOrEqual(2);
    expect(stats).not.toContain("cmdstat_unsubscribe");
  });

  test("a silent subscriber is replaced, and the next one reports releases", async () => {
    const { redis, network, node } = await behindProxy();
    const heard = vi.fn();
    await node.watch?.(["r"], heard);
    network.halfOpen();
    await expect(node.watch?.(["s"], () => {})).rejects.toThrow("did not confirm");
    await eventually(async () => expect(await subscribersOf(redis.command)).toBe(1));
    const rival = await connected(redis.port);
    await expectHeard(heard, rival.node);
    await eventually(async () => expect(await node.watch?.(["s"], () => {})).toBeTypeOf("function"));
  });

  test("watch() of a channel that is being unsubscribed reports releases", async () => {
    const { port } = await server();
    const { node } = await connected(port);
    const heard = vi.fn();
    for (let round = 0; round < 20; round++) {
      const unwatch = await node.watch?.(["r"], () => {});
      const left = unwatch?.();
      if (round % 2 > 0) await new Promise(setImmediate);
      await (await node.watch?.(["r"], heard))?.();
      await left;
    }
    await node.watch?.(["r"], heard);
    await expectHeard(heard, node);
  });
}

/** Tests the start and end of watches and of their connection. */
export function watchLifetime({ server, connected }: Tools): void {
  test("watch() shares one connection among all watches, and closes it after the last one", async () => {
    const { port, command } = await server();
    const { node } = await connected(port);
    const before = await connectionsOf(command);
    const ends = await Promise.all(["r", "r", "s"].map((resource) => node.watch?.([resource], () => {})));
    expect(await connectionsOf(command)).toBe(before + 1);
    for (const unwatch of ends) await unwatch?.();
    await eventually(async () => expect(await connectionsOf(command)).toBe(before));
    const heard = vi.fn();
    await node.watch?.(["r"], heard);
    await expectHeard(heard, node);
  });

  test("close() ends the watches and their connection, and leaves the client open", async () => {
    const { port, command } = await server();
    const { node } = await connected(port);
    const before = await connectionsOf(command);
    const heard = vi.fn();
    const unwatch = await node.watch?.(["r"], heard);
    expect(await node.acquire(acquireRequest("alice"))).toMatchObject({ granted: true });
    await node.close();
    await node.close();
    await eventually(async () => expect(await connectionsOf(command)).toBe(before));
    expect(await node.release(releaseRequest("alice"))).toEqual({ released: true });
    await expect(node.acquire(acquireRequest("alice"))).rejects.toThrow("the node is closed: create another one");
    await expect(node.watch?.(["r"], heard)).rejects.toThrow("the node is closed");
    await unwatch?.();
    expect(heard).not.toHaveBeenCalled();
  });

  test("watch() rejects while the server hangs, and can be retried later", async () => {
    const hanging = await server();
    const { node } = await connected(hanging.port);
    hanging.pause();
    await expect(node.watch?.(["r"], () => {})).rejects.toThrow();
    hanging.resume();
    const heard = vi.fn();
    await eventually(async () => expect(await node.watch?.(["r"], heard)).toBeTypeOf("function"));
    await expectHeard(heard, node);
  });
}

/** Releases the resource "r", which a watcher must hear. */
async function expectHeard(heard: (resource: string) => void, { acquire, release }: LockNode): Promise<void> {
  await acquire(acquireRequest("alice"));
  await release(releaseRequest("alice"));
  await eventually(() => expect(heard).toHaveBeenCalledWith("r"));
}

async function subscribersOf(command: RedisServer["command"]): Promise<number> {
  const counts = (await command("PUBSUB", "NUMSUB", `holdfast:released:${lockKey}`)) as [string, number];
  return counts[1];
}

async function connectionsOf(command: RedisServer["command"]): Promise<number> {
  return String(await command("CLIENT", "LIST"))
    .trim()
    .split("\n").length;
}
