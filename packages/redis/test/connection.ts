import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { type RedisOptions as AllOptions, Redis } from "ioredis";
import { afterAll, beforeEach } from "vitest";
import {
  type FencedConnection,
  type RedisConnection,
  type RedisNode,
  type RedisNodeOptions,
  redisNode,
} from "../src/index.ts";

/** A connection over ioredis that does no more than these tests need. */
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

/** The same for a fenced store. */
export function fencedConnectionOver(client: Redis): FencedConnection {
  return {
    isReady: () => client.status === "ready",
    runScript: (command, script, key, args) => client.callBuffer(command, script, 1, key, ...args),
  };
}

type RedisOptions = Omit<AllOptions, "replyMapping">;

/** What the tests of a file share: one server, emptied before each of them. */
export interface Bench {
  readonly server: RedisServer;
  readonly client: Redis;
  /** A node over the client. */
  node(options?: RedisNodeOptions): RedisNode;
  /** A node over a client of its own. */
  nodeOver(options: RedisOptions): Promise<RedisNode>;
}

/** Starts the server of a test file. */
export async function startBench(): Promise<Bench> {
  const server = await startRedisServer();
  const clients: Redis[] = [];
  const connect = async (options: RedisOptions): Promise<Redis> => {
    const client = new Redis(server.port, { ...options, lazyConnect: true });
    clients.push(client);
    await client.connect();
    return client;
  };
  const client = await connect({});
  beforeEach(() => client.flushall());
  afterAll(async () => {
    for (const each of clients) each.disconnect();
    await server.stop();
  });
  return {
    server,
    client,
    node: (options) => redisNode(connectionOver(client), options),
    nodeOver: async (options) => redisNode(connectionOver(await connect(options))),
  };
}
