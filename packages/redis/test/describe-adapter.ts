import {
  type RedisServer,
  type RedisServerOptions,
  startRedisServer,
  startTcpProxy,
  type TcpProxy,
} from "@holdfast/testkit";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { RedisNode, RedisNodeOptions } from "../src/index.ts";
import { fenceKey } from "../src/keys.ts";
import {
  acquireRequest,
  eventually,
  extendRequest,
  ignore,
  longMs,
  pass,
  releaseRequest,
  shortMs,
} from "./requests.ts";

/** A client of a library, and the node made of it. */
export interface ClientUnderTest {
  readonly node: RedisNode;
  /** What the library says about the connection. */
  isReady(): boolean;
  /** Calls back whenever the connection is ready. */
  onReady(listener: () => void): void;
  /** Sends more than fits into a socket, so that what follows stays with the client as long as the server hangs. */
  flood(payload: string): void;
  close(): void;
}

/** Makes a client of 127.0.0.1 that begins to connect, and comes back whenever it was disconnected. */
export type MakeClient = (port: number, options?: RedisNodeOptions) => ClientUnderTest;

const lockKey = "lock:r";

/**
 * Registers the tests that every adapter has to pass beyond the conformance suite: what happens to a connection, to the
 * server's script cache, and to wake-ups.
 */
export function describeAdapter(name: string, makeClient: MakeClient): void {
  const tools = toolsFor(makeClient);
  describe(name, { timeout: 30_000 }, () => {
    describe("a client that is not connected", () => notConnected(tools));
    describe("a connection that is lost", () => lostConnection(tools));
    describe("a server that hangs", () => hangingServer(tools));
    describe("a server without the script", () => scriptCache(tools));
    describe("wake-ups", () => wakeUps(tools));
  });
}

interface Tools {
  server(options?: RedisServerOptions): Promise<RedisServer>;
  proxy(server: Pick<RedisServer, "port">): Promise<TcpProxy>;
  client(port: number, options?: RedisNodeOptions): ClientUnderTest;
  connected(port: number, options?: RedisNodeOptions): Promise<ClientUnderTest>;
}

/** Whatever these make is cleaned up when the test ends. */
function toolsFor(makeClient: MakeClient): Tools {
  const tools: Tools = {
    async server(options) {
      const server = await startRedisServer(options);
      onTestFinished(() => server.stop());
      return server;
    },
    async proxy(server) {
      const proxy = await startTcpProxy(server.port);
      onTestFinished(() => proxy.stop());
      return proxy;
    },
    client(port, options) {
      const client = makeClient(port, options);
      onTestFinished(async () => {
        await client.node.close();
        client.close();
      });
      return client;
    },
    async connected(port, options) {
      const client = tools.client(port, options);
      await eventually(() => expect(client.isReady()).toBe(true));
      return client;
    },
  };
  return tools;
}

function notConnected({ server, proxy, client, connected }: Tools): void {
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
    await network.resume();
    expect(await released).toEqual({ released: true });
    expect(await command("EXISTS", lockKey)).toBe(0);
  });
}

function lostConnection({ server, proxy, connected }: Tools): void {
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
    await network.resume();
    await isBack;
    await comeBack(client);
    await expectNeverClaimed(command);
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

  test("acquire() works again after a restart of the server, whose scripts are gone", async () => {
    const mortal = await server();
    const client = await connected(mortal.port);
    await client.node.acquire(acquireRequest("alice"));
    await mortal.restart();
    await comeBack(client);
    expect(await client.node.acquire(acquireRequest("bob"))).toEqual({ granted: true, fence: 1 });
    expect(await client.node.release(releaseRequest("bob"))).toEqual({ released: true });
  });
}

function hangingServer({ server, connected }: Tools): void {
  test("release() undoes an acquire that a hanging server gets to late", async () => {
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

  test("release() is sent, and acquire() is not, when the hanging server had not loaded the script", async () => {
    const hanging = await server();
    const client = await connected(hanging.port);
    hanging.pause();
    const acquired = client.node.acquire(acquireRequest("alice", { timeoutMs: shortMs }));
    await pass(shortMs);
    const released = client.node.release(releaseRequest("alice"));
    hanging.resume();
    await expect(acquired).rejects.toThrow("time was up");
    expect(await released).toEqual({ released: false });
    await expectNeverClaimed(hanging.command);
  });

  test("acquire() refuses when ten thousand commands have no answer", async () => {
    const hanging = await server();
    const client = await connected(hanging.port);
    await warmUp(client);
    hanging.pause();
    for (let i = 0; i < 10_000; i++) ignore(client.node.acquire(acquireRequest(`owner ${i}`)));
    await expect(client.node.acquire(acquireRequest("one more"))).rejects.toThrow("10000 commands are waiting");
    const released = client.node.release(releaseRequest("owner 0"));
    hanging.resume();
    expect(await released).toHaveProperty("released");
    expect(await client.node.acquire(acquireRequest("alice"))).toHaveProperty("granted");
  });
}

function scriptCache({ server, proxy, connected }: Tools): void {
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

  test("acquire() does not send the script after timeoutMs", async () => {
    const cold = await server();
    const network = await proxy(cold);
    const { node } = await connected(network.port);
    network.stall("replies");
    const acquired = node.acquire(acquireRequest("alice", { timeoutMs: shortMs }));
    await eventually(async () => expect(await callsOf(cold, "evalsha")).toBe(1));
    await pass(shortMs);
    await network.resume();
    await expect(acquired).rejects.toThrow("time was up");
    await expectNeverClaimed(cold.command);
  });

  test("acquire() does not send the script after a release that found it loaded by another client", async () => {
    const cold = await server();
    const network = await proxy(cold);
    const { node } = await connected(network.port);
    network.stall("replies");
    const acquired = node.acquire(acquireRequest("alice", { timeoutMs: longMs }));
    await eventually(async () => expect(await callsOf(cold, "evalsha")).toBe(1));
    await warmUp(await connected(cold.port));
    const before = await callsOf(cold, "evalsha");
    const released = node.release(releaseRequest("alice"));
    await eventually(async () => expect(await callsOf(cold, "evalsha")).toBe(before + 1));
    await network.resume();
    await expect(acquired).rejects.toThrow("time was up");
    expect(await released).toEqual({ released: false });
    await expectNeverClaimed(cold.command);
  });
}

function wakeUps({ server, connected }: Tools): void {
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

/** Has the server load the script, and both sides do everything once. */
async function warmUp({ node }: ClientUnderTest): Promise<void> {
  await node.inspect("warm-up");
}

/** Waits until the client has reconnected, and whatever it sent by itself has been answered. */
async function comeBack(client: ClientUnderTest): Promise<void> {
  await eventually(() => expect(client.isReady()).toBe(true));
  await eventually(() => warmUp(client));
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

/** A claim that was made and then released would have left its counter behind. */
async function expectNeverClaimed(command: RedisServer["command"]): Promise<void> {
  expect(await command("EXISTS", lockKey, fenceKey(lockKey))).toBe(0);
}

async function callsOf({ command }: RedisServer, name: string): Promise<number> {
  const stats = String(await command("INFO", "commandstats"));
  return Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
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
