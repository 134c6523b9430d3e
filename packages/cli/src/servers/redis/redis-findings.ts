/** What the doctor may find about a Redis or Valkey server. */
import { commonFindings } from "../../doctor/common-findings.ts";
import type { Facts } from "../../doctor/facts.ts";
import { error, type Findings, notice, warning } from "../../doctor/finding-kind.ts";
import { listed, longMs } from "../../output/format.ts";
import type { RedisView } from "./examine-redis.ts";

/** The findings about Redis and Valkey. */
export const redisFindings: Findings<RedisView> = {
  ...commonFindings<RedisView>({
    "cannot-lock": ({ lockFailure, info, access }) => {
      const isExplained =
        info?.replicaOf || info?.isCluster || access.missing.length + access.unknownCommands.length > 0;
      return lockFailure === null || isExplained ? null : `failed a trial lock: ${lockFailure}`;
    },

    "permissions-missing": ({ access, info }, { restartGuardMs }) => {
      const missing = [
        ...access.missing,
        ...(restartGuardMs > 0 && info === null ? ["+info (for the restart guard)"] : []),
      ];
      return missing.length > 0 ? `denies its user permissions that locks need: ${missing.join(" ")}` : null;
    },

    "version-unsupported": ({ info }) => (info && isOlder(info, 6) ? `runs Redis ${info.version}` : null),

    hidden: ({ info, appendfsync, sentinels }) => {
      const unseen = [
        ...(info === null ? ["its role, version and memory (+info)"] : []),
        ...(info?.appendonly && appendfsync === null ? ["when it writes to disk (+config|get)"] : []),
        ...(sentinels === null ? ["whether Sentinel monitors it (+pubsub|numsub)"] : []),
      ];
      return unseen.length > 0 ? `hides ${listed(unseen)} from its user` : null;
    },

    "no-password": ({ access }) => (access.isOpen ? "accepts clients without a password" : null),
  }),
  replica: {
    ...error("exclusion"),
    when: "it is a replica",
    remedy: "Use an independent master instead: a replica repeats another server's vote.",
    rule: ({ info }) => (info?.replicaOf ? `is a replica of ${info.replicaOf}` : null),
  },
  sentinel: {
    ...error("exclusion"),
    when: "Sentinel monitors it, and would replace it by a replica",
    remedy: "Use a server that no Sentinel manages: a failover loses the claims that had not reached the replica.",
    rule: ({ sentinels }) =>
      sentinels ? `is monitored by ${sentinels === 1 ? "a sentinel" : `${sentinels} sentinels`}` : null,
  },
  cluster: {
    ...error("exclusion"),
    when: "it is one server of a Redis Cluster",
    remedy:
      "Use a standalone server: this one serves only the names of its own slots, and a replica may take its place " +
      "without some of its claims. A client for clusters serves all names.",
    rule: ({ info }) => (info?.isCluster ? "is one server of a Redis Cluster" : null),
  },
  sharded: {
    ...warning("exclusion"),
    when: "its endpoint distributes keys among several servers",
    remedy:
      "Give resources that are locked together a common hash tag. Find out whether a server behind it can fail over to a " +
      "replica: that loses claims.",
    rule: ({ access, info }) =>
      access.isSharded && !info?.isCluster ? "distributes keys among several servers" : null,
  },
  "commands-missing": {
    ...error("exclusion"),
    when: "it lacks a command that locks need, for example after `rename-command`",
    remedy: "Undo rename-command, or use a server that has these commands.",
    rule: ({ access: { unknownCommands } }) =>
      unknownCommands.length > 0 ? `does not know ${listed(unknownCommands)}` : null,
  },
  evicting: {
    ...error("exclusion"),
    when: "it evicts keys when its memory is full",
    remedy: "Set maxmemory-policy noeviction: an evicted key is a lost claim, or a lost counter.",
    rule: ({ info }) =>
      info && info.maxmemory > 0 && evicts(info) ? `evicts keys (maxmemory-policy ${info.maxmemoryPolicy})` : null,
  },
  "has-replicas": {
    ...warning("exclusion"),
    when: "it has replicas: a mechanism that the doctor cannot see may promote one of them",
    remedy: "Use a server without replicas: a failover, by hand or by a managed service, loses claims.",
    rule: ({ info }) =>
      info?.replicas ? `has ${info.replicas === 1 ? "a replica" : `${info.replicas} replicas`}` : null,
  },
  "forgets-claims": {
    ...warning("exclusion"),
    when: "it forgets claims in a restart, and no restart guard of at least the ttl keeps it from voting afterwards",
    remedy:
      "Set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no, or give all clients a restart guard of the longest ttl.",
    rule: (view, facts) => {
      const reason = forgetting(view);
      if (reason === null || isGuarded(facts)) return null;
      return `${reason}: after a restart, it votes without remembering its claims`;
    },
  },
  "restarted-lately": {
    ...warning("exclusion"),
    when: "it restarted less than a ttl ago, and may have forgotten claims",
    remedy: "Wait until a ttl has passed since its start.",
    rule: (view, facts) => {
      const { info } = view;
      if (info === null || forgetting(view) === null || isGuarded(facts) || info.uptimeMs >= facts.ttlMs) return null;
      return `started less than ${longMs(facts.ttlMs)} ago: locks that it has forgotten may still be held`;
    },
  },
  "forgets-counters": {
    ...warning("fenced"),
    when: "it forgets fence counters in a crash",
    remedy: "Set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no.",
    rule: (view) => {
      const reason = forgetting(view);
      return reason && `${reason}: after a crash, tokens depend on the clocks of clients`;
    },
  },
  recovering: {
    ...warning(),
    when: "it has restarted, and does not vote during the restart guard",
    remedy: "Wait. Meanwhile, locks depend on the other servers.",
    rule: ({ info }, { restartGuardMs }) => {
      const leftMs = info === null ? 0 : recoveringMs(info.uptimeMs, restartGuardMs);
      return leftMs > 0 ? `does not vote for another ${longMs(leftMs)} after its restart` : null;
    },
  },
  "wake-ups-denied": {
    ...warning(),
    when: "its user may not publish releases, or subscribe to them",
    remedy:
      "Grant the missing permissions with ACL SETUSER. Until then, waiters retry after a delay, or all at the same time.",
    rule: ({ access: { missingForWakeUps } }) =>
      missingForWakeUps.length > 0
        ? `denies its user permissions for notifications: ${missingForWakeUps.join(" ")}`
        : null,
  },
  "sharing-denied": {
    ...warning(),
    when: "its user may not share locks",
    remedy:
      "Grant the missing permissions with ACL SETUSER. Until then, requests for shared locks fail here, and so does every request while others share the lock.",
    rule: ({ access: { missingForSharing } }) =>
      missingForSharing.length > 0
        ? `denies its user permissions for shared locks: ${missingForSharing.join(" ")}`
        : null,
  },
  "version-old": {
    ...notice(),
    when: "it is older than Redis 7.0",
    remedy: "Upgrade: on Redis 6, some errors do not name the key, and min-replicas-to-write has no effect on locks.",
    rule: ({ info }) =>
      info && isOlder(info, 7) && !isOlder(info, 6) ? `runs Redis ${info.version}, which is older than 7.0` : null,
  },
  "evicting-policy": {
    ...notice(),
    when: "it would evict keys if its memory were limited",
    remedy: "Set maxmemory-policy noeviction before anyone sets maxmemory.",
    rule: ({ info }) =>
      info && info.maxmemory === 0 && evicts(info)
        ? `would evict keys if its memory were limited (maxmemory-policy ${info.maxmemoryPolicy})`
        : null,
  },
};

/** Returns how a server may forget its replies; null if it does not, or does not show. */
function forgetting({ info, appendfsync, pausesFsync }: RedisView): string | null {
  if (info === null) return null;
  if (!info.appendonly) return "keeps claims in memory only (appendonly no)";
  if (pausesFsync) return "replies before it has written to disk during a rewrite (no-appendfsync-on-rewrite yes)";
  if (appendfsync === null || appendfsync === "always") return null;
  return `replies before it has written to disk (appendfsync ${appendfsync})`;
}

/** Returns whether a restarted server does not vote until all claims that it may have forgotten have ended. */
function isGuarded({ restartGuardMs, ttlMs }: Facts): boolean {
  return restartGuardMs >= ttlMs;
}

/**
 * Returns how long a server will not vote. Like the node, it assumes that the server has been up for almost a second
 * less than it reports.
 */
function recoveringMs(uptimeMs: number, restartGuardMs: number): number {
  return restartGuardMs === 0 ? 0 : Math.max(0, restartGuardMs - (uptimeMs - 1_000));
}

/** Returns whether a server is older than a major version of Redis. Valkey is a fork of Redis 7.2. */
function isOlder({ product, version }: { product: string; version: string }, major: number): boolean {
  return product === "Redis" && Number.parseInt(version, 10) < major;
}

function evicts({ maxmemoryPolicy }: { maxmemoryPolicy: string }): boolean {
  return maxmemoryPolicy !== "" && maxmemoryPolicy !== "noeviction";
}
