import type { Info } from "./redis-view.ts";

/** Parses the reply to `INFO`. Missing fields get the values of a server without the feature. */
export function parseInfo(text: string): Info {
  const fields = new Map(
    text
      .split(/\r?\n/)
      .filter((line) => line.includes(":"))
      .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]),
  );
  const field = (name: string): string => fields.get(name) ?? "";
  const number = (name: string): number => Number(fields.get(name) ?? 0);
  const valkey = fields.get("valkey_version");
  return {
    product: valkey === undefined ? "Redis" : "Valkey",
    version: valkey ?? field("redis_version"),
    runId: field("run_id"),
    uptimeMs: number("uptime_in_seconds") * 1_000,
    replicaOf: field("role") === "slave" ? `${field("master_host")}:${field("master_port")}` : null,
    replicas: number("connected_slaves"),
    isCluster: field("cluster_enabled") === "1",
    appendonly: field("aof_enabled") === "1",
    maxmemory: number("maxmemory"),
    maxmemoryPolicy: field("maxmemory_policy"),
  };
}
