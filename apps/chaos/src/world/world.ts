import { resolve } from "node:path";
import { startWorkerProcess, type WorkerProcess } from "@holdfast/app-kit/worker-process";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { FromClient } from "../client/messages.ts";
import type { ClientFunctions } from "../client/process.ts";
import { names } from "../names.ts";
import { fakeClocks } from "./fake-clock.ts";
import { type ChaosNode, startNode } from "./node.ts";
import { type StoreServer, startStore } from "./servers.ts";

/** The parts of a run: real servers, each behind a proxy, client processes, and a store that is not attacked. */
export interface World extends Pick<StoreServer, "look"> {
  readonly nodes: readonly ChaosNode[];
  readonly clients: readonly ChaosClient[];
  /** Calls back for each message of a client, until the function that it returns is called. */
  listen(listener: Listener): () => void;
  /** Rejects when a client process ends. */
  readonly broken: Promise<never>;
}

/** A client process, as its parent sees it. */
export type ChaosClient = WorkerProcess<ClientFunctions>;

export type Listener = (client: string, message: FromClient) => void;

export interface WorldOptions {
  readonly nodes: number;
  readonly clients: number;
  readonly ttlMs: number;
  /** The modules that connect clients to the servers, in turn. */
  readonly adapters: readonly string[];
  /** Whether the clocks of the servers can be set. */
  readonly clocks: boolean;
}

const program = new URL("../client/process.ts", import.meta.url);

/** How long processes may take to start on a busy machine. */
const startTimeoutMs = 60_000;

/** Starts everything, and resolves when all clients are connected. */
export async function startWorld(options: WorldOptions, cleanup: Cleanup): Promise<World> {
  const { ttlMs, adapters } = options;
  const makeClock = options.clocks ? await fakeClocks() : undefined;
  const nodes = await Promise.all(
    names("n", options.nodes).map(async (name) => startNode(name, await makeClock?.(), cleanup)),
  );
  const { storeUrl, look } = await startStore(cleanup);
  const listeners = new Set<Listener>();
  const urls = nodes.map(({ proxy }) => `redis://127.0.0.1:${proxy.port}`);
  const order = { urls, storeUrl, ttlMs, nodeTimeoutMs: Math.ceil(ttlMs * 0.15) };
  const startClient = async (client: string, index: number): Promise<ChaosClient> => {
    const tell = (message: FromClient): void => {
      for (const listener of [...listeners]) listener(client, message);
    };
    const process = startWorkerProcess<ClientFunctions>(await bundleProgram(program), {
      name: client,
      events: { tell },
    });
    cleanup.defer(process.stop);
    const adapter = adapters[index % adapters.length] as string;
    const module = await bundleProgram(resolve(adapter));
    await process.call("open", startTimeoutMs, { ...order, client, adapter, module });
    return process;
  };
  const clients = await Promise.all(names("c", options.clients).map(startClient));
  const broken = Promise.race(clients.map(({ ended }) => ended)).then(() => {
    throw clients.find(({ endError }) => endError !== undefined)?.endError;
  });
  broken.catch(() => {});
  return {
    nodes,
    clients,
    look,
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    broken,
  };
}
