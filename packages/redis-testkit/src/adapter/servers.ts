import type { RedisServer } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { type ClientUnderTest, comeBack, expectNeverClaimed, lockKey, type Tools, warmUp } from "../adapter-tools.ts";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "../requests.ts";
import { eventually, ignore, pass, shortMs } from "../timing.ts";

/** Makes the first claim the first command. Otherwise the identification of the server would load the script before. */
const unverified = { verifyServer: false };

/** Tests operations while the server hangs. Some clients drop a command that timed out without waiting for the reply. */
export function hangingServer({ server, connected }: Tools): void {
  test("release() undoes an acquire that a hanging server executes late", async () => {
    const hanging = await server();
    const client = await connected(hanging.port);
    await warmUp(client);
    hanging.pause();
    ignore(client.node.acquire(acquireRequest("alice", { timeoutMs: shortMs })));
    await pass(shortMs);
    const released = client.node.release(releaseRequest("alice"));
    hanging.resume();
    await released;
    expect(await hanging.command("EXISTS", lockKey)).toBe(0);
  });

  test("release() is sent, but acquire() is not, when the hanging server has not loaded the script", async () => {
    const hanging = await server();
    const client = await connected(hanging.port, unverified);
    hanging.pause();
    const acquired = client.node.acquire(acquireRequest("alice", { timeoutMs: shortMs }));
    ignore(acquired);
    await pass(shortMs);
    const released = client.node.release(releaseRequest("alice"));
    hanging.resume();
    await expect(acquired).rejects.toThrow("timed out");
    expect(await released).toEqual({ released: false });
    await expectNeverClaimed(hanging.command);
  });
}

/** Tests the limits of commands waiting for a server that is silent for long. */
export function silentServer({ server, proxy, connected }: Tools): void {
  test("at most 256 claims and their releases wait for a server that hangs, however many attempts are made", async () => {
    const hanging = await server();
    const client = await connected(hanging.port);
    await warmUp(client);
    await hanging.command("CONFIG", "RESETSTAT");
    hanging.pause();
    const outcomes: Promise<unknown>[] = [];
    for (let round = 0; round < 30; round++) outcomes.push(...(await failingAttempts(client, `round ${round}`, 100)));
    hanging.resume();
    expect(await client.node.acquire(acquireRequest("alice"))).toMatchObject({ granted: true });
    await Promise.all(outcomes);
    // A release reads its key, a grant reads its key and the counter, and a call with claims reads the floor.
    const reads = await callsOf(hanging, "get");
    expect(reads).toBeLessThanOrEqual(256 * 3 + 2 + (await callsOf(hanging, "evalsha")));
    expect(await callsOf(hanging, "set")).toBeLessThanOrEqual(256 * 2 + 2);
    expect(await hanging.command("KEYS", "lock:*")).toEqual([lockKey]);
  });

  test("at most 512 releases wait for a server that hangs, and further ones reject", async () => {
    const hanging = await server();
    const client = await connected(hanging.port);
    await warmUp(client);
    hanging.pause();
    const release = (i: number) => client.node.release(releaseRequest("alice", [`r${i}`]));
    const released = Array.from({ length: 512 }, (_, i) => release(i));
    await expect(release(512)).rejects.toThrow("512 commands are already waiting for a reply");
    hanging.resume();
    for (const reply of released) expect(await reply).toEqual({ released: false });
    expect(await release(512)).toEqual({ released: false });
  });

  test("acquire() rejects when ten thousand claims are held back", async () => {
    const hanging = await server();
    const client = await connected(hanging.port);
    await warmUp(client);
    hanging.pause();
    for (let i = 0; i < 10_000; i++) ignore(client.node.acquire(acquireRequest(`owner ${i}`, { timeoutMs: shortMs })));
    const refused = client.node.acquire(acquireRequest("one more"));
    await expect(refused).rejects.toThrow("10000 claims are already waiting to be sent");
    await pass(shortMs);
    const released = client.node.release(releaseRequest("owner 0"));
    hanging.resume();
    expect(await released).toHaveProperty("released");
    expect(await client.node.acquire(acquireRequest("alice"))).toHaveProperty("granted");
  });

  test("claims that are held back are sent as soon as the server answers", async () => {
    const hanging = await server();
    const client = await connected(hanging.port);
    await warmUp(client);
    hanging.pause();
    const claims = Array.from({ length: 2_000 }, (_, i) =>
      client.node.acquire(acquireRequest("alice", { resources: [`r${i}`] })),
    );
    await pass(shortMs);
    hanging.resume();
    for (const claim of claims) expect(await claim).toEqual({ granted: true, fence: 1 });
  });

  test("acquire() that is held back rejects after timeoutMs, and its release needs no server", async () => {
    const hanging = await server();
    const client = await connected(hanging.port);
    await warmUp(client);
    hanging.pause();
    for (let i = 0; i < 256; i++) ignore(client.node.acquire(acquireRequest("alice", { resources: [`r${i}`] })));
    const late = client.node.acquire(acquireRequest("bob", { timeoutMs: shortMs }));
    await expect(late).rejects.toThrow("timed out before it was sent");
    for (let again = 0; again < 2; again++) {
      expect(await client.node.release({ ...releaseRequest("bob"), undo: true })).toEqual({ released: false });
    }
    const undone = client.node.acquire(acquireRequest("carol"));
    ignore(undone);
    expect(await client.node.release({ ...releaseRequest("carol"), undo: true })).toEqual({ released: false });
    await expect(undone).rejects.toThrow("timed out before it was sent");
    hanging.resume();
    await client.node.inspect("r");
    await expectNeverClaimed(hanging.command);
  });

  test("release() after an extend() that is held back is sent to the server", async () => {
    const hanging = await server();
    const client = await connected(hanging.port);
    await client.node.acquire(acquireRequest("bob"));
    hanging.pause();
    for (let i = 0; i < 256; i++) ignore(client.node.acquire(acquireRequest("alice", { resources: [`r${i}`] })));
    const extended = client.node.extend(extendRequest("bob"));
    ignore(extended);
    const released = client.node.release({ ...releaseRequest("bob"), undo: true });
    hanging.resume();
    expect(await released).toEqual({ released: true });
    await expect(extended).rejects.toThrow("timed out before it was sent");
  });

  test("claims that are held back reject when the connection is lost, and are not sent over the next connection", async () => {
    const redis = await server();
    const network = await proxy(redis);
    const client = await connected(network.port);
    await warmUp(client);
    network.stall("requests");
    for (let i = 0; i < 256; i++) {
      ignore(client.node.acquire(acquireRequest("alice", { resources: [`r${i}`], timeoutMs: shortMs })));
    }
    const heldBack = client.node.acquire(acquireRequest("bob", { timeoutMs: shortMs }));
    ignore(heldBack);
    await network.refuse();
    network.cut();
    await expect(heldBack).rejects.toThrow();
    await network.start();
    await comeBack(client);
    await expectNeverClaimed(redis.command);
  });

  test("release() of an acquire() that rejected without a connection is not queued for the next connection", async () => {
    const redis = await server();
    const network = await proxy(redis);
    const client = await connected(network.port);
    await warmUp(client);
    await network.refuse();
    network.cut();
    await eventually(() => expect(client.isReady()).toBe(false));
    await expect(client.node.acquire(acquireRequest("alice"))).rejects.toThrow("the client is not connected");
    expect(await client.node.release({ ...releaseRequest("alice"), undo: true })).toEqual({ released: false });
  });
}

/** Makes attempts on `count` resources, abandons them and sends their undo releases, as core does. */
async function failingAttempts({ node }: ClientUnderTest, name: string, count: number): Promise<Promise<unknown>[]> {
  const requests = Array.from({ length: count }, (_, i) =>
    acquireRequest(`${name} ${i}`, { resources: [`${name} ${i}`], timeoutMs: 5 }),
  );
  const claims = requests.map((request) => node.acquire(request));
  for (const claim of claims) ignore(claim);
  await pass(5);
  const releases = requests.map(({ resources, owner }) =>
    node.release({ ...releaseRequest(owner, resources), undo: true }),
  );
  return [Promise.allSettled(claims), Promise.all(releases)];
}

/** Tests a server that has not loaded the script. */
export function serverWithoutScript({ server, proxy, connected }: Tools): void {
  test("every operation works after SCRIPT FLUSH", async () => {
    const forgetful = await server();
    const { node } = await connected(forgetful.port);
    const flush = () => forgetful.command("SCRIPT", "FLUSH");
    await flush();
    expect(await node.acquire(acquireRequest("alice"))).toEqual({ granted: true, fence: 1 });
    await flush();
    expect(await node.extend(extendRequest("alice"))).toEqual({ held: true, fence: 1 });
    await flush();
    expect(await node.inspect("r")).toMatchObject({ owner: "alice", fence: 1 });
    await flush();
    expect(await node.release(releaseRequest("alice"))).toEqual({ released: true });
  });

  test("acquire() works after a restart of the server, which loses its scripts", async () => {
    const mortal = await server();
    const client = await connected(mortal.port);
    await client.node.acquire(acquireRequest("alice"));
    await mortal.restart();
    await comeBack(client);
    expect(await client.node.acquire(acquireRequest("bob"))).toEqual({ granted: true, fence: 1 });
    expect(await client.node.release(releaseRequest("bob"))).toEqual({ released: true });
  });

  test("acquire() does not send the script after timeoutMs", async () => {
    const cold = await server();
    const network = await proxy(cold);
    const { node } = await connected(network.port, unverified);
    network.stall("replies");
    const acquired = node.acquire(acquireRequest("alice", { timeoutMs: shortMs }));
    ignore(acquired);
    await eventually(async () => expect(await callsOf(cold, "evalsha")).toBe(1));
    await pass(shortMs);
    await network.start();
    await expect(acquired).rejects.toThrow("timed out");
    await expectNeverClaimed(cold.command);
  });

  test("acquire() does not send the script after its release, if another client has loaded the script meanwhile", async () => {
    const cold = await server();
    const network = await proxy(cold);
    const { node } = await connected(network.port, unverified);
    network.stall("replies");
    const acquired = node.acquire(acquireRequest("alice", { timeoutMs: longMs }));
    await eventually(async () => expect(await callsOf(cold, "evalsha")).toBe(1));
    await warmUp(await connected(cold.port));
    const before = await callsOf(cold, "evalsha");
    const released = node.release(releaseRequest("alice"));
    await eventually(async () => expect(await callsOf(cold, "evalsha")).toBe(before + 1));
    await network.start();
    await expect(acquired).rejects.toThrow("timed out");
    expect(await released).toEqual({ released: false });
    await expectNeverClaimed(cold.command);
  });
}

async function callsOf({ command }: RedisServer, name: string): Promise<number> {
  const stats = String(await command("INFO", "commandstats"));
  return Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}
