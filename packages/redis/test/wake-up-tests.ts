import type { RedisServer } from "@holdfast/testkit";
import { expect, onTestFinished, test, vi } from "vitest";
import { comeBack, lockKey, type Tools } from "./adapter-tools.ts";
import { acquireRequest, releaseRequest } from "./requests.ts";
import { eventually, pass, shortMs } from "./timing.ts";

/** How watches outlive their connection. */
export function wakeUpReconnection({ server, connected }: Tools): void {
  test("watch() hears of releases again after its connection was cut", async () => {
    const { port, command } = await server();
    const [{ node }, rival] = [await connected(port), await connected(port)];
    const heard = vi.fn();
    await node.watch?.(["r"], heard);
    await command("CLIENT", "KILL", "TYPE", "pubsub");
    await eventually(async () => expect(await subscribersOf(command)).toBe(1));
    await rival.node.acquire(acquireRequest("alice"));
    await rival.node.release(releaseRequest("alice"));
    await eventually(() => expect(heard).toHaveBeenCalledWith("r"));
  });

  test("watch() hears of releases again after the server was restarted, and reports no errors", async () => {
    const log = vi.spyOn(console, "error");
    onTestFinished(() => log.mockRestore());
    const mortal = await server();
    const client = await connected(mortal.port);
    const heard = vi.fn();
    await client.node.watch?.(["r"], heard);
    await mortal.restart();
    await comeBack(client);
    await eventually(async () => expect(await subscribersOf(mortal.command)).toBe(1));
    await client.node.acquire(acquireRequest("alice"));
    await client.node.release(releaseRequest("alice"));
    await eventually(() => expect(heard).toHaveBeenCalledWith("r"));
    expect(log).not.toHaveBeenCalled();
  });

  test("watch() that begins while its connection is coming back hears of releases", async () => {
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
    await node.acquire(acquireRequest("alice"));
    await node.release(releaseRequest("alice"));
    await eventually(() => expect(heard).toHaveBeenCalledWith("r"));
  });
}

/** How watches and their connection begin and end. */
export function wakeUpLifetime({ server, connected }: Tools): void {
  test("watch() shares one connection among all watches, and closes it after the last has ended", async () => {
    const { port, command } = await server();
    const { node } = await connected(port);
    const before = await connectionsOf(command);
    const ends = await Promise.all(["r", "r", "s"].map((resource) => node.watch?.([resource], () => {})));
    expect(await connectionsOf(command)).toBe(before + 1);
    for (const unwatch of ends) await unwatch?.();
    await eventually(async () => expect(await connectionsOf(command)).toBe(before));
    const heard = vi.fn();
    await node.watch?.(["r"], heard);
    await node.acquire(acquireRequest("alice"));
    await node.release(releaseRequest("alice"));
    await eventually(() => expect(heard).toHaveBeenCalledWith("r"));
  });

  test("close() ends the watches and their connection, and leaves the client open", async () => {
    const { port, command } = await server();
    const { node } = await connected(port);
    const before = await connectionsOf(command);
    const heard = vi.fn();
    const unwatch = await node.watch?.(["r"], heard);
    await node.close();
    await node.close();
    await eventually(async () => expect(await connectionsOf(command)).toBe(before));
    expect(await node.acquire(acquireRequest("alice"))).toMatchObject({ granted: true });
    expect(await node.release(releaseRequest("alice"))).toEqual({ released: true });
    await expect(node.watch?.(["r"], heard)).rejects.toThrow("the node is closed");
    await unwatch?.();
    expect(heard).not.toHaveBeenCalled();
  });

  test("watch() rejects when the server hangs, and can be tried again later", async () => {
    const hanging = await server();
    const { node } = await connected(hanging.port);
    hanging.pause();
    await expect(node.watch?.(["r"], () => {})).rejects.toThrow();
    hanging.resume();
    const heard = vi.fn();
    await eventually(async () => expect(await node.watch?.(["r"], heard)).toBeTypeOf("function"));
    await node.acquire(acquireRequest("alice"));
    await node.release(releaseRequest("alice"));
    await eventually(() => expect(heard).toHaveBeenCalledWith("r"));
  });

  test("release() tells watchers of its own prefix only, and none at all without wakeUps", async () => {
    const { port } = await server();
    const { node } = await connected(port);
    const others = [await connected(port, { wakeUps: false }), await connected(port, { prefix: "lock:r" })];
    const heard: string[] = [];
    await node.watch?.(["r", "sentinel"], (resource) => heard.push(resource));
    for (const other of [...others, await connected(port)]) {
      const request = acquireRequest("alice", { resources: other === others[0] ? ["r"] : ["sentinel"] });
      expect(await other.node.acquire(request)).toMatchObject({ granted: true });
      expect(await other.node.release(request)).toEqual({ released: true });
    }
    await eventually(() => expect(heard).toContain("sentinel"));
    expect(heard).toEqual(["sentinel"]);
    expect(others[0]?.node.watch).toBeUndefined();
  });
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
