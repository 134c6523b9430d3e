import type { RedisNodeOptions } from "@holdfast/redis";
import type { ClientUnderTest } from "@holdfast/redis-testkit/adapter-tools";
import { Batch, ClusterBatch, GlideClient, GlideClusterClient, Logger } from "@valkey/valkey-glide";
import { type ValkeyGlideClient, valkeyGlideFencedStore, valkeyGlideNode } from "../src/index.ts";

// The library would log every error that a test provokes.
Logger.init("off");

const soon = { connectionBackoff: { numberOfRetries: 3, factor: 5, exponentBase: 2 } };

/** Creates a `GlideClient` and its node. */
export function over(port: number, options?: RedisNodeOptions): ClientUnderTest {
  const subscriber = () => GlideClient.createClient({ ...soon, addresses: addresses([port]) });
  const connected = retried(subscriber);
  const client: ValkeyGlideClient = {
    exec: async (batch, raiseOnError, terms) => (await connected).exec(batch as Batch, raiseOnError, terms),
  };
  const openNode = (nodeOptions?: RedisNodeOptions) => valkeyGlideNode(client, { ...nodeOptions, subscriber });
  const connectionId = async () => (await connected).exec(new Batch(false).customCommand(clientId), true, briefly);
  return underTest(connected, client, openNode, options, connectionId);
}

/** Creates a `GlideClusterClient` and its node. */
export function overCluster(ports: readonly number[], options?: RedisNodeOptions): ClientUnderTest {
  const subscriber = () => GlideClusterClient.createClient({ ...soon, addresses: addresses(ports) });
  const connected = retried(subscriber);
  const client: ValkeyGlideClient = {
    exec: async (batch, raiseOnError, terms) => (await connected).exec(batch as ClusterBatch, raiseOnError, terms),
    ssubscribe: async (channels, timeoutMs) => (await connected).ssubscribe(channels, timeoutMs),
  };
  const openNode = (nodeOptions?: RedisNodeOptions) => valkeyGlideNode(client, { ...nodeOptions, subscriber });
  const connectionId = async () =>
    (await connected).exec(new ClusterBatch(false).customCommand(clientId), true, briefly);
  return underTest(connected, client, openNode, options, connectionId);
}

const clientId = ["CLIENT", "ID"];
const briefly = { timeout: 200 };

function addresses(ports: readonly number[]) {
  return ports.map((port) => ({ host: "127.0.0.1", port }));
}

/** Retries: GLIDE creates no client if its first connection attempt fails. */
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

/**
 * Polls the id of the connection, as the library does not report reconnections: from when a test asks about it, because
 * polling costs more than most tests.
 */
function underTest(
  connected: Promise<GlideClient | GlideClusterClient>,
  client: ValkeyGlideClient,
  openNode: ClientUnderTest["openNode"],
  options: RedisNodeOptions | undefined,
  connectionId: () => Promise<unknown[] | null>,
): ClientUnderTest {
  let lastId = "";
  let isReady = false;
  let isClosed = false;
  let onReady = (): void => {};
  const look = async (): Promise<void> => {
    while (!isClosed) {
      try {
        const id = String(await connectionId());
        isReady = true;
        if (id !== lastId) onReady();
        lastId = id;
      } catch {
        isReady = false;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  let isLooking = false;
  const startLooking = (): void => {
    if (!isLooking) void look();
    isLooking = true;
  };
  return {
    node: openNode(options),
    openNode,
    openStore: (options) => valkeyGlideFencedStore(client, options),
    isReady() {
      startLooking();
      return isReady;
    },
    onReady(listener) {
      startLooking();
      onReady = listener;
    },
    flood: (payload) => void connected.then((client) => client.set("flood", payload)).catch(() => {}),
    close() {
      isClosed = true;
      connected.then((client) => client.close()).catch(() => {});
    },
  };
}
