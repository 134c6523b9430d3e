import { documentedPermissions } from "@holdfast/redis-testkit/permissions";
import { freePort } from "@holdfast/testkit";
import type { AddressFacts } from "../../src/doctor/facts.ts";
import { judge } from "../../src/doctor/judge.ts";
import { etcdSituations } from "./etcd-situations.ts";
import {
  examineServers,
  type LabOptions,
  refusingUrl,
  startFarUrl,
  startReplica,
  startSentinel,
  startServer,
  startUrl,
  startUrlAhead,
  startUrlForUser,
  startUrlOfShards,
  startUrlOfVersion,
  startUrlWith,
  urlOf,
} from "./lab.ts";
import { mysqlSituations } from "./mysql-situations.ts";
import { postgresSituations } from "./postgres-situations.ts";
import type { Situation } from "./situation.ts";
import { sqliteSituations } from "./sqlite-situations.ts";

const locking = await documentedPermissions();
const seeing = ["+info", "+config|get", "+pubsub|numsub"];
const without = (...denied: string[]): string[] => [...locking, ...seeing].filter((each) => !denied.includes(each));

/** Returns a situation of one server. */
function one(
  code: string,
  how: string,
  startUrl: () => Promise<string>,
  more: readonly string[] = [],
  options?: LabOptions,
): Situation {
  const examine = async () => examineServers([await startUrl()], options);
  return { code, how, also: ["single-server", ...more], examine };
}

/** A situation for each finding about Redis, or about all servers. */
const redisSituations: readonly Situation[] = [
  {
    code: "no-quorum",
    how: "nothing listens on the ports of two of three servers",
    also: ["unreachable"],
    examine: async () => examineServers([await startUrl(), await refusingUrl(), await refusingUrl()]),
  },
  {
    code: "same-server",
    how: "one server is named with two of its databases",
    also: ["same-machine", "even-number", "different-databases"],
    examine: async () => {
      const url = await startUrl();
      return examineServers([url, `${url}/3`]);
    },
  },
  one("guard-too-short", "a restart guard of 10 s, and a ttl of 10 min", () => startUrl(), ["recovering"], {
    restartGuardMs: 10_000,
  }),
  {
    code: "clocks-apart",
    how: "a proxy sets the clocks of two servers 400 ms ahead and 400 ms behind",
    also: ["same-machine", "even-number"],
    examine: async () => examineServers([await startUrlAhead(400), await startUrlAhead(-400)]),
  },
  {
    code: "same-machine",
    how: "three servers on 127.0.0.1",
    also: [],
    examine: async () => examineServers(await Promise.all([startUrl(), startUrl(), startUrl()])),
  },
  one(
    "node-timeout-too-short",
    "a proxy delivers each reply after 30 ms, and the node timeout is 10 ms",
    () => startFarUrl(15),
    [],
    { nodeTimeoutMs: 10 },
  ),
  one("ttl-too-short", "a proxy delivers each reply after 30 ms, and the ttl is 1 s", () => startFarUrl(15), [], {
    ttlMs: 1_000,
  }),
  one("single-server", "one server", () => startUrl()),
  {
    code: "even-number",
    how: "two servers",
    also: ["same-machine"],
    examine: async () => examineServers([await startUrl(), await startUrl()]),
  },
  {
    code: "different-versions",
    how: "a proxy changes the version in the INFO of one of two servers",
    also: ["same-machine", "even-number"],
    examine: async () => examineServers([await startUrl(), await startUrlOfVersion(9)]),
  },
  {
    code: "different-databases",
    how: "two servers, one of them with database 3",
    also: ["same-machine", "even-number"],
    examine: async () => examineServers([await startUrl(), `${await startUrl()}/3`]),
  },
  {
    code: "unreachable",
    how: "nothing listens on the port of one of three servers",
    also: ["same-machine"],
    examine: async () => examineServers([await startUrl(), await startUrl(), `127.0.0.1:${await freePort()}`]),
  },
  {
    code: "replica",
    how: "a server with --replicaof another server",
    also: ["no-quorum", "single-server"],
    examine: async () => examineServers([urlOf(await startReplica(await startServer()))]),
  },
  {
    code: "sentinel",
    how: "a redis-server --sentinel monitors it",
    examine: async () => {
      const server = await startServer();
      await startSentinel(server);
      return examineServers([urlOf(server)]);
    },
  },
  one("cluster", "a server with --cluster-enabled yes", () => startUrl(["--cluster-enabled", "yes"]), ["no-quorum"]),
  one("sharded", "a proxy conceals in the INFO of a cluster's only server that it is one", () => startUrlOfShards()),
  one(
    "cannot-lock",
    "a server with --min-replicas-to-write 1, and no replica",
    () => startUrl(["--min-replicas-to-write", "1"]),
    ["no-quorum"],
  ),
  one("permissions-missing", "an ACL user without +set", () => startUrlForUser(without("+set")), ["no-quorum"]),
  one("commands-missing", 'a server with --rename-command EVAL ""', () => startUrl(["--rename-command", "EVAL", ""]), [
    "no-quorum",
  ]),
  one("version-unsupported", "a proxy changes the version in the INFO of a server to 5", () => startUrlOfVersion(5)),
  one("evicting", "a server with --maxmemory 100mb --maxmemory-policy allkeys-lru", () =>
    startUrl(["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]),
  ),
  one("forgets-claims", "a server with --appendfsync everysec", () => startUrl(["--appendfsync", "everysec"]), [
    "restarted-lately",
    "forgets-counters",
  ]),
  one(
    "restarted-lately",
    "a server with --appendonly no that has just started",
    () => startUrl(["--appendonly", "no"]),
    ["forgets-claims", "forgets-counters"],
  ),
  one("clock-differs", "a proxy sets the clock of a server a minute ahead", () => startUrlAhead(60_000)),
  one("hidden", "an ACL user with only the permissions for locks", () => startUrlForUser(locking)),
  one("generation-refused", "a server that serves clients with both sets, and clients without", () =>
    startUrlWith({ epoch: 3 }),
  ),
  {
    code: "generation-behind",
    how: "two servers, one of which a change has begun on",
    also: ["same-machine", "even-number"],
    examine: async () => examineServers([await startUrlWith({ epoch: 2 }), await startUrl()]),
  },
  {
    code: "needs-heal",
    how: "two servers, one with 30 fence counters and one with 2",
    also: ["same-machine", "even-number"],
    examine: async () => examineServers([await startUrlWith({ counters: 30 }), await startUrlWith({ counters: 2 })]),
  },
  {
    code: "floor-missing",
    how: "three servers, two with a floor",
    also: ["same-machine"],
    examine: async () =>
      examineServers([await startUrlWith({ floor: 7 }), await startUrlWith({ floor: 7 }), await startUrl()]),
  },
  one(
    "forgets-counters",
    "a server with --no-appendfsync-on-rewrite yes, and a restart guard",
    () => startUrl(["--no-appendfsync-on-rewrite", "yes"]),
    ["recovering"],
    { restartGuardMs: 600_000 },
  ),
  one("recovering", "a server that has just started, and a restart guard", () => startUrl(), [], {
    restartGuardMs: 600_000,
  }),
  {
    code: "has-replicas",
    how: "another server is a replica of it",
    examine: async () => {
      const server = await startServer();
      await startReplica(server);
      return examineServers([urlOf(server)]);
    },
  },
  one("wake-ups-denied", "an ACL user without the channels", () => startUrlForUser(without("&holdfast:released:*"))),
  one("sharing-denied", "an ACL user without +zscore", () => startUrlForUser(without("+zscore"))),
  one("version-old", "a proxy changes the version in the INFO of a server to 6", () => startUrlOfVersion(6)),
  one("evicting-policy", "a server with --maxmemory-policy allkeys-lru, and no --maxmemory", () =>
    startUrl(["--maxmemory-policy", "allkeys-lru"]),
  ),
  {
    code: "no-password",
    how: 'a server with --requirepass ""',
    examine: async () => examineServers([(await startServer(["--requirepass", ""])).url]),
  },
  {
    code: "unencrypted",
    how: "the facts about a server, changed to another machine",
    examine: async () => {
      const report = await examineServers([await startUrl()]);
      const elsewhere = { ...report.servers[0]?.address, machine: "192.0.2.7" } as AddressFacts;
      return judge({ ...report, servers: report.servers.map((server) => ({ ...server, address: elsewhere })) });
    },
  },
];

/** Situations for all findings. Servers are healthy except as described. */
export const situations: readonly Situation[] = [
  ...redisSituations,
  ...postgresSituations,
  ...mysqlSituations,
  ...etcdSituations,
  ...sqliteSituations,
];
