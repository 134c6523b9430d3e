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

/** Creates servers, proxies and clients, and cleans them up when the test ends. */
export interface Tools {
  server(options?: RedisServerOptions): Promise<RedisServer>;
  proxy(server: Pick<RedisServer, "port">): Promise<TcpProxy>;
  client(port: number, options?: RedisNodeOptions): ClientUnderTest;
  connected(port: number, options?: RedisNodeOptions): Promise<ClientUnderTest>;
}

/** Returns the tools for one kind of client. */
export function toolsFor(makeClient: MakeClient): Tools {
  const tools: Tools = {
    async server(options) {
      const server = await startRedisServer(options);
      onTestFinished(() => server.stop());
      return server;
    },
    async proxy(server) {
      const proxy = await startTcpProxy({ port: server.port });
      onTestFinished(() => proxy.close());
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

/** Acquires, inspects and releases once, so that the server has loaded both scripts. */
export async function warmUp({ node }: ClientUnderTest): Promise<void> {
  const request = acquireRequest("warm-up", { resources: ["warm-up"] });
  await node.acquire(request);
  await node.inspect("warm-up");
  await node.release(request);
}

/** Waits until the client has reconnected, and commands that it resent have been answered. */
export async function comeBack(client: ClientUnderTest): Promise<void> {
  await eventually(() => expect(client.isReady()).toBe(true));
  await eventually(() => warmUp(client));
}

/** Expects that the resource "r" was never claimed: even a released claim would leave its counter behind. */
export async function expectNeverClaimed(command: RedisServer["command"]): Promise<void> {
  expect(await command("EXISTS", lockKey, fenceKey("r"))).toBe(0);
}
