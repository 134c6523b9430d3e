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

/** A client of a library, and what is made of it. */
export interface ClientUnderTest {
  readonly node: RedisNode;
  openStore(options?: FencedStoreOptions): FencedStore;
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

/** The lock key of the resource "r". */
export const lockKey = "lock:r";

/** The key of the fence counter that belongs to a lock key. */
export function fenceKey(key: string): string {
  return lockNames("", key).fence;
}

/** What makes what a test needs. */
export interface Tools {
  server(options?: RedisServerOptions): Promise<RedisServer>;
  proxy(server: Pick<RedisServer, "port">): Promise<TcpProxy>;
  client(port: number, options?: RedisNodeOptions): ClientUnderTest;
  connected(port: number, options?: RedisNodeOptions): Promise<ClientUnderTest>;
}

/** Whatever these make is cleaned up when the test ends. */
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

/** Has the server load the script, and both sides do everything once. */
export async function warmUp({ node }: ClientUnderTest): Promise<void> {
  const request = acquireRequest("warm-up", { resources: ["warm-up"] });
  await node.acquire(request);
  await node.release(request);
}

/** Waits until the client has reconnected, and whatever it sent by itself has been answered. */
export async function comeBack(client: ClientUnderTest): Promise<void> {
  await eventually(() => expect(client.isReady()).toBe(true));
  await eventually(() => warmUp(client));
}

/** A claim that was made and then released would have left its counter behind. */
export async function expectNeverClaimed(command: RedisServer["command"]): Promise<void> {
  expect(await command("EXISTS", lockKey, fenceKey(lockKey))).toBe(0);
}
