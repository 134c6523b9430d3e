import type { RedisNode } from "@holdfast/redis";
import type { RedisServer } from "@holdfast/testkit";
import { expect, test } from "vitest";
import {
  type ClientUnderTest,
  comeBack,
  disconnect,
  expectNeverClaimed,
  fenceKey,
  lockKey,
  type Tools,
  warmUp,
} from "../adapter-tools.ts";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "../requests.ts";
import { eventually, ignore, pass, shortMs } from "../timing.ts";

/** Tests operations without a connection. */
export function notConnected({ server, client, connected }: Tools): void {
  test("acquire(), extend(), inspect() and watch() reject immediately before the client has connected", async () => {
    const { port, stop } = await server();
    await stop();
    await expectToFailAtOnce(client(port).node);
  });

  test("acquire(), extend(), inspect() and watch() reject immediately after the connection is lost", async () => {
    const gone = await server();
    const client = await connected(gone.port);
    await client.node.acquire(acquireRequest("alice"));
    await gone.kill();
    await eventually(() => expect(client.isReady()).toBe(false));
    await expectToFailAtOnce(client.node);
  });
}

/** Tests a release without a connection. */
export function releaseWhileNotConnected({ behindProxy }: Tools): void {
  test("release() is sent when the connection is restored", async () => {
    const { command, network, client } = await behindProxy();
    await client.node.acquire(acquireRequest("alice"));
    await disconnect(network, client);
    const released = client.node.release(releaseRequest("alice"));
    expect(await command("GET", lockKey)).toBe("alice");
    await network.start();
    expect(await released).toEqual({ released: true });
    expect(await command("EXISTS", lockKey)).toBe(0);
  });
}

/** Tests operations that are in flight when the connection is lost. */
export function lostConnection({ server, connected }: Tools): void {
  test.each([
    ["after timeoutMs", shortMs, () => pass(shortMs)],
    ["after a release by its owner", longMs, (node: RedisNode) => ignore(node.release(releaseRequest("alice")))],
  ])("acquire() in flight when the connection is cut is not resent %s", async (_, timeoutMs, thenAbandon) => {
    const { port, command } = await server();
    const client = await connected(port);
    await cutConnection(client, command, async () => {
      ignore(client.node.acquire(acquireRequest("alice", { timeoutMs })));
      await thenAbandon(client.node);
    });
    await expectNeverClaimed(command);
  });

  test("extend() in flight when the connection is cut is not resent after timeoutMs", async () => {
    const { port, command } = await server();
    const client = await connected(port);
    await client.node.acquire(acquireRequest("alice"));
    await cutConnection(client, command, async () => {
      ignore(client.node.extend(extendRequest("alice", { timeoutMs: shortMs, fence: 9 })));
      await pass(shortMs);
    });
    expect(await command("GET", fenceKey("r"))).toBe("1");
  });

  test("acquire() in flight when the server is killed is not resent after timeoutMs", async () => {
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

/** Tests commands queued for a connection that is never restored, in clients that do not time them out. */
export function connectionLostForGood({ behindProxy }: Tools): void {
  test("acquire() and extend() in flight reject when the connection is lost permanently", async () => {
    const { network, client } = await behindProxy();
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

/** Tests the first claim of a node, which waits until the server is identified. */
export function firstClaimLost({ behindProxy }: Tools): void {
  test("acquire() of a node that has not identified its server rejects when the connection is lost permanently", async () => {
    const { network, node } = await behindProxy();
    network.stall("requests");
    const claim = node.acquire(acquireRequest("alice", { timeoutMs: shortMs }));
    ignore(claim);
    await network.refuse();
    network.cut();
    await expect(claim).rejects.toThrow();
  });
}

/** Tests commands queued in the client. Only a library that writes `Buffer`s late can still drop them. */
export function fullSocket({ behindProxy }: Tools): void {
  test("acquire() that the client has not written to the socket is not sent after timeoutMs", async () => {
    const { command, network, client } = await behindProxy();
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

/** Makes the server hold back commands sent `meanwhile`, and then drop the connection without executing them. */
async function cutConnection(
  client: ClientUnderTest,
  command: RedisServer["command"],
  meanwhile: () => Promise<void>,
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

/** Expects immediate failures: an operation that waits would time the test out. */
async function expectToFailAtOnce(node: RedisNode): Promise<void> {
  // So core queues no release of such a claim.
  const notSent = { code: "NOT_SENT", message: expect.stringContaining("the client is not connected") };
  await expect(node.acquire(acquireRequest("alice"))).rejects.toMatchObject(notSent);
  await expect(node.extend(extendRequest("alice"))).rejects.toMatchObject(notSent);
  await expect(node.inspect("r")).rejects.toThrow("the client is not connected");
  await expect(node.watch?.(["r"], () => {})).rejects.toThrow("the client is not connected");
}
