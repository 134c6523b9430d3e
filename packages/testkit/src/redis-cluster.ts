import { setTimeout as sleep } from "node:timers/promises";
import { type RedisServer, type RedisServerOptions, startRedisServer } from "./redis-server.ts";

const slots = 16_384;
const formTimeoutMs = 30_000;

/** A real Redis Cluster without replicas, with one server per shard, ordered by slots. */
export type RedisCluster = Awaited<ReturnType<typeof startRedisCluster>>;

/** Starts a cluster of `shards` masters with equal shares of the slots, and resolves when it has formed. */
export async function startRedisCluster(shards: number, options: RedisServerOptions = {}) {
  const args = ["--cluster-enabled", "yes", ...(options.args ?? [])];
  const servers = await Promise.all(Array.from({ length: shards }, () => startRedisServer({ ...options, args })));
  const stop = async () => void (await Promise.all(servers.map((server) => server.stop())));
  try {
    for (const [index, server] of servers.entries()) {
      const first = Math.ceil((index * slots) / shards);
      const end = Math.ceil(((index + 1) * slots) / shards);
      const share = Array.from({ length: end - first }, (_, offset) => first + offset);
      await server.command("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
      // Redis 6 has no ADDSLOTSRANGE.
      await server.command("CLUSTER", "ADDSLOTS", ...share);
    }
    const [first, ...others] = servers;
    for (const { port } of others) await first?.command("CLUSTER", "MEET", "127.0.0.1", port);
    await Promise.all(servers.map((server) => formed(server, shards)));
    return { servers, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function formed(server: RedisServer, shards: number): Promise<void> {
  const wanted = ["cluster_state:ok", `cluster_known_nodes:${shards}\r`, `cluster_slots_ok:${slots}\r`];
  const deadlineMs = performance.now() + formTimeoutMs;
  while (performance.now() < deadlineMs) {
    const info = String(await server.command("CLUSTER", "INFO"));
    if (wanted.every((line) => info.includes(line))) return;
    await sleep(10);
  }
  throw new Error(`the cluster of ${shards} servers did not form within ${formTimeoutMs} ms`);
}
