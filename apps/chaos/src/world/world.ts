import { startRedisServer } from "@holdfast/testkit";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { FromClient } from "../client/messages.ts";
import { connectStore } from "../client/store.ts";
import type { Sets } from "../history/visit.ts";
import { names } from "../names.ts";
import { type ChaosClient, startClient } from "./client.ts";
import { fakeClocks } from "./fake-clock.ts";
import { type ChaosNode, startNode } from "./node.ts";

/** What a run is made of: real servers, each behind a proxy, client processes, and a store that is not attacked. */
export interface World {
  readonly nodes: readonly ChaosNode[];
  readonly clients: readonly ChaosClient[];
  /** What the sets of a slice hold. */
  look(slice: number): Promise<Sets>;
  /** Calls back for each message of a client, until the function that it returns is called. */
  listen(listener: Listener): () => void;
  /** Rejects when a client process ends. */
  readonly broken: Promise<never>;
}

export type Listener = (client: string, message: FromClient) => void;

export interface WorldOptions {
  readonly nodes: number;
  readonly clients: number;
  readonly ttlMs: number;
  /** The modules that clients reach the servers with, in turn. */
  readonly adapters: readonly string[];
  /** Whether the clocks of the servers can be set. */
  readonly clocks: boolean;
}

/** How long processes may take to start on a busy machine. */
const startTimeoutMs = 60_000;

/** Starts everything, and resolves when all clients are connected. */
export async function startWorld(options: WorldOptions, cleanup: Cleanup): Promise<World> {
  const { ttlMs } = options;
  const makeClock = options.clocks ? await fakeClocks() : undefined;
  const nodes = await Promise.all(
    names("n", options.nodes).map(async (name) => startNode(name, await makeClock?.(), cleanup)),
  );
  const storeServer = await startRedisServer();
  cleanup.defer(() => storeServer.stop());
  const store = await connectStore(storeServer.url);
  cleanup.defer(() => store.close());

  const listeners = new Set<Listener>();
  const allReady = promiseOfReady(options.clients, listeners);
  const clients = await Promise.all(
    names("c", options.clients).map((client, index) =>
      startClient(
        {
          client,
          adapter: options.adapters[index % options.adapters.length] as string,
          urls: nodes.map(({ proxy }) => `redis://127.0.0.1:${proxy.port}`),
          storeUrl: storeServer.url,
          ttlMs,
          nodeTimeoutMs: Math.ceil(ttlMs * 0.15),
        },
        (message) => {
          for (const listener of [...listeners]) listener(client, message);
        },
        cleanup,
      ),
    ),
  );
  const broken = Promise.race(clients.map(({ ended }) => ended));
  broken.catch(() => {});
  await Promise.race([allReady, broken]);
  return {
    nodes,
    clients,
    look: (slice) => store.look(slice),
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    broken,
  };
}

function promiseOfReady(count: number, listeners: Set<Listener>): Promise<void> {
  const waiting = new Set(names("c", count));
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${[...waiting]} did not connect in time`)), startTimeoutMs).unref();
    const listener: Listener = (client, { kind }) => {
      if (kind !== "ready") return;
      waiting.delete(client);
      if (waiting.size > 0) return;
      clearTimeout(late);
      listeners.delete(listener);
      resolve();
    };
    listeners.add(listener);
  });
}
