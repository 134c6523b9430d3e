import { documentedPermissions } from "@holdfast/redis-testkit/permissions";
import type { AddressFacts } from "../../src/doctor/facts.ts";
import { type Diagnosis, judge } from "../../src/doctor/judge.ts";
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
import { mysqlSituations } from "./mysql-situations.ts";
import { postgresSituations } from "./postgres-situations.ts";
import { one, type Situation, several } from "./situation.ts";
import { sqliteSituations } from "./sqlite-situations.ts";

const locking = await documentedPermissions();
const seeing = ["+info", "+config|get", "+pubsub|numsub"];
const without = (...denied: string[]): string[] => [...locking, ...seeing].filter((each) => !denied.includes(each));

/** The findings about any two servers here. */
const two = ["same-machine", "even-number"];

/** Judges a server as if it were on another machine. */
async function farAway(): Promise<Diagnosis> {
  const report = await examineServers([await startUrl()]);
  const elsewhere = { ...report.servers[0]?.address, machine: "192.0.2.7" } as AddressFacts;
  return judge({ ...report, servers: report.servers.map((server) => ({ ...server, address: elsewhere })) });
}

/** A situation for each finding about Redis, or about all servers. */
const redisSituations: readonly Situation[] = [
  several("no-quorum", "nothing listens on the ports of two of three servers", ["unreachable"], () =>
    Promise.all([startUrl(), refusingUrl(), refusingUrl()]),
  ),
  several("same-server", "one server is named with two of its databases", [...two, "different-databases"], async () => {
    const url = await startUrl();
    return [url, `${url}/3`];
  }),
  one("guard-too-short", "a restart guard of 10 s, and a ttl of 10 min", () => startUrl(), ["recovering"], {
    restartGuardMs: 10_000,
  }),
  several("clocks-apart", "a proxy sets the clocks of two servers 400 ms ahead and 400 ms behind", two, () =>
    Promise.all([startUrlAhead(400), startUrlAhead(-400)]),
  ),
  several("same-machine", "three servers on 127.0.0.1", [], () => Promise.all([startUrl(), startUrl(), startUrl()])),
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
  several("even-number", "two servers", two, () => Promise.all([startUrl(), startUrl()])),
  several("different-versions", "a proxy changes the version in the INFO of one of two servers", two, () =>
    Promise.all([startUrl(), startUrlOfVersion(9)]),
  ),
  several("different-databases", "two servers, one of them with database 3", two, async () => [
    await startUrl(),
    `${await startUrl()}/3`,
  ]),
  several("unreachable", "nothing listens on the port of one of three servers", ["same-machine"], () =>
    Promise.all([startUrl(), startUrl(), refusingUrl()]),
  ),
  one(
    "replica",
    "a server with --replicaof another server",
    async () => urlOf(await startReplica(await startServer())),
    ["no-quorum"],
  ),
  one("sentinel", "a redis-server --sentinel monitors it", async () => {
    const server = await startServer();
    await startSentinel(server);
    return urlOf(server);
  }),
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
  several("generation-behind", "two servers, one of which a change has begun on", two, () =>
    Promise.all([startUrlWith({ epoch: 2 }), startUrl()]),
  ),
  several("needs-heal", "two servers, one with 30 fence counters and one with 2", two, () =>
    Promise.all([startUrlWith({ counters: 30 }), startUrlWith({ counters: 2 })]),
  ),
  several("floor-missing", "three servers, two with a floor", ["same-machine"], () =>
    Promise.all([startUrlWith({ floor: 7 }), startUrlWith({ floor: 7 }), startUrl()]),
  ),
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
  one("has-replicas", "another server is a replica of it", async () => {
    const server = await startServer();
    await startReplica(server);
    return urlOf(server);
  }),
  one("wake-ups-denied", "an ACL user without the channels", () => startUrlForUser(without("&holdfast:released:*"))),
  one("sharing-denied", "an ACL user without +zscore", () => startUrlForUser(without("+zscore"))),
  one("version-old", "a proxy changes the version in the INFO of a server to 6", () => startUrlOfVersion(6)),
  one("evicting-policy", "a server with --maxmemory-policy allkeys-lru, and no --maxmemory", () =>
    startUrl(["--maxmemory-policy", "allkeys-lru"]),
  ),
  one("no-password", 'a server with --requirepass ""', async () => (await startServer(["--requirepass", ""])).url),
  { ...one("unencrypted", "the facts about a server, changed to another machine", () => startUrl()), examine: farAway },
];

/** Situations for all findings. Servers are healthy except as described. */
export const situations: readonly Situation[] = [
  ...redisSituations,
  ...postgresSituations,
  ...mysqlSituations,
  ...etcdSituations,
  ...sqliteSituations,
];
