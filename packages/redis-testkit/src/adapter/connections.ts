import type { RedisNode } from "@holdfast/redis";
import type { RedisServer } from "@holdfast/testkit";
import { expect, test } from "vitest";
import {
  type ClientUnderTest,
  comeBack,
  expectNeverClaimed,
  fenceKey,
  lockKey,
  type Tools,
  warmUp,
} from "../adapter-tools.ts";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "../requests.ts";
import { eventually, ignore, pass, shortMs } from "../timing.ts";

/** What happens while there is no connection. */
export function notConnected({ server, client, connected }: Tools): void {
  test("acquire(), extend(), inspect() and watch() reject at once before the connection is made", async () => {
    const { port, stop } = await server();
    await stop();
    await expectToFailAtOnce(client(port).node);
  });

  test("acquire(), extend(), inspect() and watch() reject at once after the connection was lost", async () => {
    const gone = await server();
    const client = await connected(gone.port);
    await client.node.acquire(acquireRequest("alice"));
    await gone.kill();
    await eventually(() => expect(client.isReady()).toBe(false));
    await expectToFailAtOnce(client.node);
  });

  test("acquire() that was refused is not sent when the connection comes back", async () => {
    const gone = await server();
    const client = await connected(gone.port);
    await gone.kill();
    await eventually(() => expect(client.isReady()).toBe(false));
    await expect(client.node.acquire(acquireRequest("alice"))).rejects.toThrow();
    await gone.restart();
    await comeBack(client);
    await expectNeverClaimed(gone.command);
  });
}

/** What a release waits for. */
export function releaseWhileNotConnected({ server, proxy, connected }: Tools): void {
  test("release() is sent when the connection comes back", async () => {
    const { port, command } = await server();
    const network = await proxy({ port });
    const client = await connected(network.port);
    await client.node.acquire(acquireRequest("alice"));
    await network.refuse();
    network.cut();
    await eventually(() => expect(client.isReady()).toBe(false));
    const released = client.node.release(releaseRequest("alice"));
    expect(await command("GET", lockKey)).toBe("alice");
    await network.start();
    expect(await released).toEqual({ released: true });
    expect(await command("EXISTS", lockKey)).toBe(0);
  });
}

/** What happens to what was under way. */
export function lostConnection({ server, connected }: Tools): void {
  test("acquire() under way when the connection was cut is not sent again after timeoutMs", async () => {
    const { port, command } = await server();
    const client = await connected(port);
    await cutConnection(client, command, async () => {
      ignore(client.node.acquire(acquireRequest("alice", { timeoutMs: shortMs })));
      await pass(shortMs);
    });
    await expectNeverClaimed(command);
  });

  test("acquire() under way when the connection was cut is not sent again after a release by its owner", async () => {
    const { port, command } = await server();
    const client = await connected(port);
    await cutConnection(client, command, () => {
      ignore(client.node.acquire(acquireRequest("alice", { timeoutMs: longMs })));
      ignore(client.node.release(releaseRequest("alice")));
    });
    await expectNeverClaimed(command);
  });

  test("extend() under way when the connection was cut is not sent again after timeoutMs", async () => {
    const { port, command } = await server();
    const client = await connected(port);
    await client.node.acquire(acquireRequest("alice"));
    await cutConnection(client, command, async () => {
      ignore(client.node.extend(extendRequest("alice", { timeoutMs: shortMs, fence: 9 })));
      await pass(shortMs);
    });
    expect(await command("GET", fenceKey(lockKey))).toBe("1");
  });

  test("acquire() under way when the server died is not sent again after timeoutMs", async () => {
    const mortal = await server();
    const client = await connected(mortal.port);
    await warmUp(client);
    mortal.pause();
    ignore(client.node.acquire(acquireRequest("alice", { timeoutMs: shortMs })));
    await pass(shortMs);
    await mortal.restart();
    await comeBack(client);
    await expectNeverClaimed(mortal.command);
  });
}

/** What happens to what a client keeps for a connection that never comes, unless the client itself settles it in time. */
export function connectionLostForGood({ server, proxy, connected }: Tools): void {
  test("acquire() and extend() under way when the connection was lost for good reject", async () => {
    const network = await proxy(await server());
    const client = await connected(network.port);
    await warmUp(client);
    const { node } = client;
    network.stall("requests");
    const claims = [
      node.acquire(acquireRequest("alice", { timeoutMs: shortMs })),
      node.extend(extendRequest("alice", { timeoutMs: shortMs })),
      node.acquire(acquireRequest("bob", { timeoutMs: longMs })),
    ];
    for (const claim of claims) ignore(claim);
    ignore(node.release(releaseRequest("bob")));
    await network.refuse();
    network.cut();
    for (const claim of claims) await expect(claim).rejects.toThrow();
  });
}

/** What happens to the first claim of a node, which waits until it is known which server it would go to. */
export function firstClaimLost({ server, proxy, connected }: Tools): void {
  test("acquire() of a node that does not know its server yet rejects when the connection was lost for good", async () => {
    const network = await proxy(await server());
    const { node } = await connected(network.port);
    network.stall("requests");
    const claim = node.acquire(acquireRequest("alice", { timeoutMs: shortMs }));
    ignore(claim);
    await network.refuse();
    network.cut();
    await expect(claim).rejects.toThrow();
  });
}

/** What happens to what waits inside the client: only a library that writes a `Buffer` late can take that back. */
export function fullSocket({ server, proxy, connected }: Tools): void {
  test("acquire() that the client had not written yet is not sent after timeoutMs", async () => {
    const { port, command } = await server();
    const network = await proxy({ port });
    const client = await connected(network.port);
    await warmUp(client);
    network.stall("requests");
    client.flood("x".repeat(32 * 1024 * 1024));
    ignore(client.node.acquire(acquireRequest("alice", { timeoutMs: shortMs })));
    await pass(shortMs);
    const isBack = new Promise<void>((resolve) => client.onReady(resolve));
    network.cut();
    await network.start();
    await isBack;
    await comeBack(client);
    await expectNeverClaimed(command);
  });
}

/** Has the server keep what is sent to it meanwhile, and then cut the connection without having looked at it. */
async function cutConnection(
  client: ClientUnderTest,
  command: RedisServer["command"],
  meanwhile: () => void | Promise<void>,
): Promise<void> {
  await warmUp(client);
  const isBack = new Promise<void>((resolve) => client.onReady(resolve));
  await command("CLIENT", "PAUSE", longMs, "WRITE");
  await meanwhile();
  await eventually(async () => expect(String(await command("INFO", "clients"))).toMatch(/blocked_clients:[1-9]/));
  await command("CLIENT", "KILL", "TYPE", "normal");
  await command("CLIENT", "UNPAUSE");
  await isBack;
  await comeBack(client);
}

/** A connection that waits would make the test time out. */
async function expectToFailAtOnce(node: RedisNode): Promise<void> {
  await expect(node.acquire(acquireRequest("alice"))).rejects.toThrow("the client is not connected");
  await expect(node.extend(extendRequest("alice"))).rejects.toThrow("the client is not connected");
  await expect(node.inspect("r")).rejects.toThrow("the client is not connected");
  await expect(node.watch?.(["r"], () => {})).rejects.toThrow("the client is not connected");
}
