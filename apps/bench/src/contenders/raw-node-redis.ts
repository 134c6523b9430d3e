import { destroy, nodeRedisClients } from "./clients.ts";
import type { Client } from "./contender.ts";
import { compareAndDelete, rawClient } from "./raw.ts";

export async function connect(ports: readonly number[]): Promise<Client> {
  const clients = await nodeRedisClients(ports);
  const shas = await Promise.all(clients.map((client) => client.scriptLoad(compareAndDelete)));
  const sha = String(shas[0]);
  const servers = clients.map((client) => ({
    set: (key: string, value: string, ttlMs: number) =>
      client.set(key, value, { expiration: { type: "PX", value: ttlMs }, condition: "NX" }),
    delete: (key: string, value: string) => client.evalSha(sha, { keys: [key], arguments: [value] }),
  }));
  return rawClient(servers, () => destroy(clients));
}
