import { startTcpProxy, type TcpProxy } from "@holdfast/conformance/tcp-proxy";
import {
  type FencedStore,
  type FencedStoreOptions,
  lockNames,
  type RedisNode,
  type RedisNodeOptions,
} from "@holdfast/redis";
import { type RedisServer, type RedisServerOptions, startRedisServer } from "@holdfast/testkit";
import { expect, onTestFinished } from "vitest";
import { acquireRequest } from "./requests.ts";
import { eventually } from "./timing.ts";

/** A client of some library, with its node and stores. */
export interface ClientUnderTest {
  readonly node: RedisNode;
  /** Creates another node over the client. */
  openNode(options?: RedisNodeOptions): RedisNode;
  openStore(options?: FencedStoreOptions): FencedStore;
  /** Whether the library reports a working connection. */
  isReady(): boolean;
  /** Calls `listener` each time the connection becomes ready. */
  onReady(listener: () => void): void;
  /** Fills the socket, so that later commands stay in the client while the server hangs. */
  flood(payload: string): void;
  close(): void;
}

/** Creates a client for a port of 127.0.0.1 that starts connecting, and reconnects after each disconnection. */
export type MakeClient = (port: number, options?: RedisNodeOptions) => ClientUnderTest;

/** The lock key of the resource "r". */
export const lockKey = "lock:r";

/** Returns the key of the fence counter of a resource, with the default prefix. */
export function fenceKey(resource: string): string {
  return lockNames("lock:", resource).fence;
}

/** Starts a server, which is stopped when the test ends. */
export async function serverForTest(options?: RedisServerOptions): Promise<RedisServer> {
  const server = await startRedisServer(options);
  onTestFinished(server.stop);
  return server;
}

/** Starts a proxy before a server, which is closed when the test ends. */
export async function proxyForTest({ port }: Pick<RedisServer, "port">): Promise<TcpProxy> {
  const proxy = await startTcpProxy({ port });
  onTestFinished(() => proxy.close());
  return proxy;
}

/** Closes the client when the test ends. */
export function clientForTest(client: ClientUnderTest): ClientUnderTest {
  onTestFinished(async () => {
    await client.node.close();
    client.close();
  });
  return client;
}

/** Resolves with the client when it is connected. */
export async function ready(client: ClientUnderTest): Promise<ClientUnderTest> {
  await eventually(() => expect(client.isReady()).toBe(true));
  return client;
}

/** Creates servers, proxies and clients, and cleans them up when the test ends. */
export type Tools = ReturnType<typeof toolsFor>;

/** Returns the tools for one kind of client. */
export function toolsFor(makeClient: MakeClient) {
  const client = (port: number, options?: RedisNodeOptions) => clientForTest(makeClient(port, options));
  const connected = (port: number, options?: RedisNodeOptions) => ready(client(port, options));
  /** Creates a server, a proxy before it, and a client that is connected through the proxy. */
  const behindProxy = async (options?: RedisNodeOptions) => {
    const redis = await serverForTest();
    const network = await proxyForTest(redis);
    const through = await connected(network.port, options);
    return { redis, command: redis.command, network, client: through, node: through.node };
  };
  return { server: serverForTest, proxy: proxyForTest, client, connected, behindProxy };
}

/** Acquires, inspects and releases once, so that the server has loaded both scripts. */
export async function warmUp({ node }: ClientUnderTest): Promise<void> {
  const request = acquireRequest("warm-up", { resources: ["warm-up"] });
  await node.acquire(request);
  await node.inspect("warm-up");
  await node.release(request);
}

/** Cuts the connection of the client, which is not restored, and waits until the client has noticed. */
export async function disconnect(network: TcpProxy, client: ClientUnderTest): Promise<void> {
  await network.refuse();
  network.cut();
  await eventually(() => expect(client.isReady()).toBe(false));
}

/** Waits until the client has reconnected, and commands that it resent have been answered. */
export async function comeBack(client: ClientUnderTest): Promise<void> {
  await ready(client);
  await eventually(() => warmUp(client));
}

/** Expects that the resource "r" was never claimed: even a released claim would leave its counter behind. */
export async function expectNeverClaimed(command: RedisServer["command"]): Promise<void> {
  expect(await command("EXISTS", lockKey, fenceKey("r"))).toBe(0);
}
