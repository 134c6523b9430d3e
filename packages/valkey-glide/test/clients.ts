import type { RedisNodeOptions } from "@holdfast/redis";
import {
  Batch,
  ClusterBatch,
  GlideClient,
  type GlideClientConfiguration,
  GlideClusterClient,
  Logger,
} from "@valkey/valkey-glide";
import type { ClientUnderTest } from "../../redis/test/adapter-tools.ts";
import { type ValkeyGlideClient, valkeyGlideNode } from "../src/index.ts";

// It would tell of every error that a test provokes.
Logger.init("off");

/** Comes back soon, and takes as much as the other clients do. */
const configuration = {
  connectionBackoff: { numberOfRetries: 3, factor: 5, exponentBase: 2 },
  inflightRequestsLimit: 50_000,
};

/** A `GlideClient`, and its node. */
export function over(
  port: number,
  options?: RedisNodeOptions,
  clientOptions: Partial<GlideClientConfiguration> = {},
): ClientUnderTest {
  const wanted = { ...configuration, addresses: [{ host: "127.0.0.1", port }], ...clientOptions };
  const connected = retried(() => GlideClient.createClient(wanted));
  const subscriber = () => GlideClient.createClient(wanted);
  const node = valkeyGlideNode({ exec: async (...args) => (await connected).exec(...(args as ExecArguments)) }, {
    ...options,
    subscriber,
  });
  return underTest(connected, node, () => new Batch(false));
}

/** A `GlideClusterClient`, and its node. */
export function overCluster(ports: readonly number[], options?: RedisNodeOptions): ClientUnderTest {
  const wanted = { ...configuration, addresses: ports.map((port) => ({ host: "127.0.0.1", port })) };
  const connected = retried(() => GlideClusterClient.createClient(wanted));
  const client: ValkeyGlideClient = {
    exec: async (...args) => (await connected).exec(...(args as ExecArguments)),
    ssubscribe: async () => {},
  };
  const node = valkeyGlideNode(client, { ...options, subscriber: () => GlideClusterClient.createClient(wanted) });
  return underTest(connected, node, () => new ClusterBatch(false));
}

type ExecArguments = Parameters<GlideClient["exec"]> & Parameters<GlideClusterClient["exec"]>;

/** GLIDE gives up when the server is not there at the first attempt. */
async function retried<Client>(create: () => Promise<Client>): Promise<Client> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await create();
    } catch (error) {
      if (attempt === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

/** Asks the server again and again for the number of the connection, since the library does not tell of it. */
function underTest(
  connected: Promise<GlideClient | GlideClusterClient>,
  node: ClientUnderTest["node"],
  makeBatch: () => Batch & ClusterBatch,
): ClientUnderTest {
  let connectionId: unknown;
  let isReady = false;
  let isClosed = false;
  let onReady = (): void => {};
  const look = async (): Promise<void> => {
    const client = await connected;
    while (!isClosed) {
      try {
        const [id] = (await client.exec(makeBatch().customCommand(["CLIENT", "ID"]), true, { timeout: 200 })) ?? [];
        isReady = true;
        if (id !== connectionId) onReady();
        connectionId = id;
      } catch {
        isReady = false;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  look().catch(() => {});
  return {
    node,
    isReady: () => isReady,
    onReady(listener) {
      onReady = listener;
    },
    flood: (payload) => void connected.then((client) => client.set("flood", payload)).catch(() => {}),
    close() {
      isClosed = true;
      connected.then((client) => client.close()).catch(() => {});
    },
  };
}
