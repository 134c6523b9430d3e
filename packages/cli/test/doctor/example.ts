import type { Facts, ServerFacts } from "../../src/doctor/facts.ts";
import { type Report, reportOf } from "../../src/doctor/judge.ts";
import type { Info, RedisView } from "../../src/servers/redis/examine-redis.ts";

/** The view of a healthy server. */
export const healthyView: RedisView = {
  kind: "redis",
  latency: { medianMs: 1, p99Ms: 2, pings: 100 },
  clock: { aheadMs: 0, uncertaintyMs: 1 },
  info: {
    ...{ product: "Redis", version: "7.0.15", runId: "", uptimeMs: 1e9, replicaOf: null, replicas: 0 },
    ...{ isCluster: false, appendonly: true, maxmemory: 0, maxmemoryPolicy: "noeviction" },
  },
  appendfsync: "always",
  pausesFsync: false,
  sentinels: 0,
  access: {
    ...{ missing: [], missingForWakeUps: [], missingForSharing: [], unknownCommands: [] },
    ...{ isOpen: false, isSharded: false },
  },
  lockFailure: null,
  summary: { identity: null, version: "Redis 7.0.15", uptimeMs: 1e9, onDisk: "always" },
};

/** Returns facts about servers on separate machines, each with changes to a healthy view. */
export function factsOf(...views: readonly Partial<RedisView>[]): Facts {
  const servers = views.map(
    (changes, index): ServerFacts => ({
      name: `s${index}`,
      address: { machine: `192.0.2.${index}`, isTls: true, database: 0 },
      failure: null,
      view: { ...healthyView, ...changes },
      stored: { floor: 0, epoch: 0, counters: 1_000, isComplete: true },
    }),
  );
  const timeouts = { ttlMs: 30_000, nodeTimeoutMs: 500, suggestedNodeTimeoutMs: 0, restartGuardMs: 0 };
  return { servers, joint: null, generation: 0, ...timeouts };
}

/** A report about five servers, all with different problems except the first. */
export const example: Report = exampleReport();

function exampleReport(): Report {
  const info = healthyView.info as Info;
  const facts = factsOf(
    {},
    { info: { ...info, appendonly: false }, summary: { ...healthyView.summary, onDisk: "no" } },
    { clock: { aheadMs: 3_200, uncertaintyMs: 1.2 } },
    {
      access: { ...healthyView.access, missing: ["+pexpire"], missingForWakeUps: ["&holdfast:released:*"] },
      lockFailure: "ERR",
    },
    {},
  );
  const servers = facts.servers.map((server, index) => ({ ...server, name: `locks-${index + 1}.internal:6379` }));
  servers[4] = { ...(servers[4] as ServerFacts), view: null, stored: null, failure: "connect ETIMEDOUT" };
  return reportOf({ ...facts, servers }, "exclusion");
}
