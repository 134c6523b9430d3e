import { type RedisServer, type RedisServerOptions, startRedisCluster, startRedisServer } from "@holdfast/testkit";
import { type RedisOptions as AllOptions, Redis } from "ioredis";
import { afterAll, beforeEach, onTestFinished } from "vitest";
import {
  type FencedConnection,
  type RedisConnection,
  type RedisNode,
  type RedisNodeOptions,
  redisNode,
} from "../src/index.ts";

/** Creates a minimal connection over ioredis. */
export function connectionOver(client: Redis): RedisConnection {
  return {
    name: "under test",
    isCluster: false,
    isReady: () => client.status === "ready",
    runScript: (command, script, call) => client.call(command, script, call.keyCount, ...call.keysAndArguments()),
    openSubscriber() {
      throw new Error("not needed here");
    },
  };
}

/** Creates a minimal connection of a fenced store. */
export function fencedConnectionOver(client: Redis): FencedConnection {
  return {
    isReady: () => client.status === "ready",
    runScript: (command, script, key, args) => client.callBuffer(command, script, 1, key, ...args),
  };
}

type RedisOptions = Omit<AllOptions, "replyMapping">;

/** Starts a server for the running test. */
export async function serverForTest(options?: RedisServerOptions): Promise<RedisServer> {
  const server = await startRedisServer(options);
  onTestFinished(() => server.stop());
  return server;
}

/** Connects a client for the running test. */
export async function clientOf({ port }: Pick<RedisServer, "port">, options: RedisOptions = {}): Promise<Redis> {
  const client = new Redis({ port, enableReadyCheck: false, ...options, lazyConnect: true });
  client.on("error", () => {});
  onTestFinished(() => client.disconnect());
  await client.connect();
  return client;
}

/** Connects a client to a cluster of one server, both for the running test. */
export async function clusterOfOne(): Promise<Redis> {
  const cluster = await startRedisCluster(1);
  onTestFinished(() => cluster.stop());
  return clientOf(cluster.servers[0] as RedisServer);
}

/** The server that the tests of a file share. It is emptied before each test. */
export interface Bench {
  readonly server: RedisServer;
  readonly client: Redis;
  /** Creates a node over the shared client. */
  node(options?: RedisNodeOptions): RedisNode;
}

/** Starts the server, and stops it after all tests of the file. */
export async function startBench(): Promise<Bench> {
  const server = await startRedisServer();
  const client = new Redis({ port: server.port, lazyConnect: true });
  await client.connect();
  beforeEach(() => client.flushall());
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });
  return { server, client, node: (options) => redisNode(connectionOver(client), options) };
}
