import { documentedPermissions } from "@holdfast/redis-testkit/permissions";
import { freePort } from "@holdfast/testkit";
import type { AddressFacts } from "../../src/doctor/facts.ts";
import { judge } from "../../src/doctor/judge.ts";
import { etcdSituations } from "./etcd-situations.ts";
import {
  examineServers,
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
import { postgresSituations } from "./postgres-situations.ts";
import type { Situation } from "./situation.ts";
import { sqliteSituations } from "./sqlite-situations.ts";

const locking = await documentedPermissions();
const seeing = ["+info", "+config|get", "+pubsub|numsub"];
const without = (...denied: string[]): string[] => [...locking, ...seeing].filter((each) => !denied.includes(each));

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
  {
    code: "guard-too-short",
    how: "a restart guard of 10 s, and a ttl of 10 min",
    also: ["recovering", "single-server"],
    examine: async () => examineServers([await startUrl()], { restartGuardMs: 10_000 }),
  },
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
  {
    code: "node-timeout-too-short",
    how: "a proxy delivers each reply after 30 ms, and the node timeout is 10 ms",
    examine: async () => examineServers([await startFarUrl(15)], { nodeTimeoutMs: 10 }),
  },
  {
    code: "ttl-too-short",
    how: "a proxy delivers each reply after 30 ms, and the ttl is 1 s",
    examine: async () => examineServers([await startFarUrl(15)], { ttlMs: 1_000 }),
  },
  {
    code: "single-server",
    how: "one server",
    also: [],
    examine: async () => examineServers([await startUrl()]),
  },
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
  {
    code: "cluster",
    how: "a server with --cluster-enabled yes",
    also: ["no-quorum", "single-server"],
    examine: async () => examineServers([await startUrl(["--cluster-enabled", "yes"])]),
  },
  {
    code: "sharded",
    how: "a proxy conceals in the INFO of a cluster's only server that it is one",
    examine: async () => examineServers([await startUrlOfShards()]),
  },
  {
    code: "cannot-lock",
    how: "a server with --min-replicas-to-write 1, and no replica",
    also: ["no-quorum", "single-server"],
    examine: async () => examineServers([await startUrl(["--min-replicas-to-write", "1"])]),
  },
  {
    code: "permissions-missing",
    how: "an ACL user without +set",
    also: ["no-quorum", "single-server"],
    examine: async () => examineServers([await startUrlForUser(without("+set"))]),
  },
  {
    code: "commands-missing",
    how: 'a server with --rename-command EVAL ""',
    also: ["no-quorum", "single-server"],
    examine: async () => examineServers([await startUrl(["--rename-command", "EVAL", ""])]),
  },
  {
    code: "version-unsupported",
    how: "a proxy changes the version in the INFO of a server to 5",
    examine: async () => examineServers([await startUrlOfVersion(5)]),
  },
  {
    code: "evicting",
    how: "a server with --maxmemory 100mb --maxmemory-policy allkeys-lru",
    examine: async () =>
      examineServers([await startUrl(["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"])]),
  },
  {
    code: "forgets-claims",
    how: "a server with --appendfsync everysec",
    also: ["restarted-lately", "forgets-counters", "single-server"],
    examine: async () => examineServers([await startUrl(["--appendfsync", "everysec"])]),
  },
  {
    code: "restarted-lately",
    how: "a server with --appendonly no that has just started",
    also: ["forgets-claims", "forgets-counters", "single-server"],
    examine: async () => examineServers([await startUrl(["--appendonly", "no"])]),
  },
  {
    code: "clock-differs",
    how: "a proxy sets the clock of a server a minute ahead",
    examine: async () => examineServers([await startUrlAhead(60_000)]),
  },
  {
    code: "hidden",
    how: "an ACL user with only the permissions for locks",
    examine: async () => examineServers([await startUrlForUser(locking)]),
  },
  {
    code: "epoch-refused",
    how: "a server at epoch 3, and clients of epoch 1",
    examine: async () => examineServers([await startUrlWith({ epoch: 3 })]),
  },
  {
    code: "epoch-behind",
    how: "two servers, one at epoch 2 and one without",
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
  {
    code: "forgets-counters",
    how: "a server with --no-appendfsync-on-rewrite yes, and a restart guard",
    also: ["recovering", "single-server"],
    examine: async () =>
      examineServers([await startUrl(["--no-appendfsync-on-rewrite", "yes"])], { restartGuardMs: 600_000 }),
  },
  {
    code: "recovering",
    how: "a server that has just started, and a restart guard",
    examine: async () => examineServers([await startUrl()], { restartGuardMs: 600_000 }),
  },
  {
    code: "has-replicas",
    how: "another server is a replica of it",
    examine: async () => {
      const server = await startServer();
      await startReplica(server);
      return examineServers([urlOf(server)]);
    },
  },
  {
    code: "wake-ups-denied",
    how: "an ACL user without the channels",
    examine: async () => examineServers([await startUrlForUser(without("&holdfast:released:*"))]),
  },
  {
    code: "sharing-denied",
    how: "an ACL user without +zscore",
    examine: async () => examineServers([await startUrlForUser(without("+zscore"))]),
  },
  {
    code: "version-old",
    how: "a proxy changes the version in the INFO of a server to 6",
    examine: async () => examineServers([await startUrlOfVersion(6)]),
  },
  {
    code: "evicting-policy",
    how: "a server with --maxmemory-policy allkeys-lru, and no --maxmemory",
    examine: async () => examineServers([await startUrl(["--maxmemory-policy", "allkeys-lru"])]),
  },
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
  ...etcdSituations,
  ...sqliteSituations,
];
