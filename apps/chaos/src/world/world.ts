import { EventEmitter, once } from "node:events";
import { resolve } from "node:path";
import { startServer } from "@holdfast/app-kit/servers";
import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { ClientOrder } from "../client/messages.ts";
import { connectStore } from "../client/store.ts";
import { names } from "../names.ts";
import { type Client, type Reports, startClient } from "./client.ts";
import { fakeClocks } from "./fake-clock.ts";
import type { ChaosNode } from "./node.ts";

/** What a world is made of. */
export interface WorldOptions {
  /** The names of all servers that the run will ever have. */
  readonly nodes: readonly string[];
  readonly serverArgs: readonly string[];
  /** Whether the clocks of the servers can be set. */
  readonly clocks: boolean;
  readonly clients: number;
  /** The modules that connect clients to the servers, in turn. */
  readonly adapters: readonly string[];
  /** Whether each client has proxies of its own. */
  readonly proxied: boolean;
  /** How the clients lock. */
  orderOf(index: number): Pick<ClientOrder, "redlock" | "clockAheadMs" | "ignoresEpochs">;
}

const program = new URL("../client/process.ts", import.meta.url);

/** The parts of a run: real servers, each behind a proxy, client processes, and a store that is not attacked. */
export type World = Awaited<ReturnType<typeof startWorld>>;

/** Starts everything, and resolves when all processes run. */
export async function startWorld(options: WorldOptions, cleanup: Cleanup) {
  const { adapters, serverArgs, orderOf } = options;
  const makeClock = options.clocks ? await fakeClocks() : undefined;
  const proxyCount = options.proxied ? options.clients : 0;
  const start = async (name: string): Promise<ChaosNode> => {
    const clock = await makeClock?.();
    const server = await startServer(cleanup, { args: serverArgs, env: clock?.env ?? {} });
    const { port } = server;
    const proxies = await Promise.all(Array.from({ length: proxyCount }, () => startTcpProxy({ port })));
    for (const proxy of proxies) cleanup.defer(() => proxy.close());
    return { name, server, args: serverArgs, proxies, clock };
  };
  const nodes = await Promise.all(options.nodes.map(start));
  const { url: storeUrl } = await startServer(cleanup);
  const { look, close } = await connectStore(storeUrl);
  cleanup.defer(close);
  const reports: Reports = new EventEmitter();
  const broken = once(reports, "broken").then(([error]): never => {
    throw error;
  });
  broken.catch(() => {});
  const startOne = async (client: string, index: number): Promise<Client> => {
    const adapter = adapters[index % adapters.length] as string;
    const module = await bundleProgram(resolve(adapter));
    const proxies = nodes.flatMap((node) => node.proxies[index] ?? []);
    const urls = Object.fromEntries(
      nodes.map(({ name, server }, number) => [name, `redis://127.0.0.1:${(proxies[number] ?? server).port}`]),
    );
    const order = { ...orderOf(index), client, adapter, module, urls, storeUrl };
    return startClient(await bundleProgram(program), order, proxies, reports, cleanup);
  };
  const clients = await Promise.all(names("c", options.clients).map(startOne));
  return {
    ...{ nodes, clients },
    /** What the clients report. */
    reports,
    /** Returns what the sets of this name hold, on the server that is not attacked. */
    look,
    /** Rejects when a client process ends that nobody has ended. */
    broken,
  };
}
