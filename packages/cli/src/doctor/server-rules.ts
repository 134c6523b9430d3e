import { listed, longMs, shortMs } from "../output/format.ts";
import type { ServerCode } from "./catalogue.ts";
import type { Facts, ServerFacts, ServerView } from "./facts.ts";

/** A rule about a server that replies: returns a message, or null if there is nothing to report. */
type Rule = (view: ServerView, facts: Facts, server: ServerFacts) => string | null;

/**
 * The largest acceptable clock difference. Time services correct smaller ones gradually, and larger ones in one step.
 */
export const clockDifferenceMsMax = 500;

/** The rules for findings about a server that replies. Servers with the same message are reported together. */
export const serverRules: Readonly<Record<Exclude<ServerCode, "unreachable">, Rule>> = {
  replica: ({ info }) => (info?.replicaOf ? `is a replica of ${info.replicaOf}` : null),

  sentinel: ({ sentinels }) =>
    sentinels ? `is monitored by ${sentinels === 1 ? "a sentinel" : `${sentinels} sentinels`}` : null,

  cluster: ({ info }) => (info?.isCluster ? "is a member of a Redis Cluster" : null),

  "cannot-lock": ({ lockFailure, info, access }) => {
    const isExplained = info?.replicaOf || info?.isCluster || access.missing.length + access.unknownCommands.length > 0;
    return lockFailure === null || isExplained ? null : `failed a trial lock: ${lockFailure}`;
  },

  "permissions-missing": ({ access, info }, { restartGuardMs }) => {
    const missing = [
      ...access.missing,
      ...(restartGuardMs > 0 && info === null ? ["+info (for the restart guard)"] : []),
    ];
    return missing.length > 0 ? `denies its user permissions that locks need: ${missing.join(" ")}` : null;
  },

  "commands-missing": ({ access: { unknownCommands } }) =>
    unknownCommands.length > 0 ? `does not know ${listed(unknownCommands)}` : null,

  "version-unsupported": ({ info }) => (info && isOlder(info, 6) ? `runs Redis ${info.version}` : null),

  evicting: ({ info }) =>
    info && info.maxmemory > 0 && evicts(info) ? `evicts keys (maxmemory-policy ${info.maxmemoryPolicy})` : null,

  "forgets-claims": (view, facts) => {
    const reason = forgetting(view);
    if (reason === null || isGuarded(facts)) return null;
    return `${reason}: after a restart, it votes without remembering its claims`;
  },

  "restarted-lately": (view, facts) => {
    const { info } = view;
    if (info === null || forgetting(view) === null || isGuarded(facts) || info.uptimeMs >= facts.ttlMs) return null;
    return `started less than ${longMs(facts.ttlMs)} ago: locks that it has forgotten may still be held`;
  },

  "clock-differs": ({ clock }) => {
    if (clock === null || Math.abs(clock.aheadMs) - clock.uncertaintyMs <= clockDifferenceMsMax) return null;
    const [far, margin] = [shortMs(Math.abs(clock.aheadMs)), shortMs(clock.uncertaintyMs)];
    return `has a clock that is ${far} ${clock.aheadMs > 0 ? "ahead of" : "behind"} this machine's, to within ${margin}`;
  },

  hidden: ({ info, appendfsync, sentinels }) => {
    const unseen = [
      ...(info === null ? ["its role, version and memory (+info)"] : []),
      ...(info?.appendonly && appendfsync === null ? ["when it writes to disk (+config|get)"] : []),
      ...(sentinels === null ? ["whether Sentinel monitors it (+pubsub|numsub)"] : []),
    ];
    return unseen.length > 0 ? `hides ${listed(unseen)} from its user` : null;
  },

  "forgets-counters": (view) => {
    const reason = forgetting(view);
    return reason && `${reason}: after a crash, tokens depend on the clocks of clients`;
  },

  recovering: ({ info }, { restartGuardMs }) => {
    const leftMs = info === null ? 0 : recoveringMs(info.uptimeMs, restartGuardMs);
    return leftMs > 0 ? `does not vote for another ${longMs(leftMs)} after its restart` : null;
  },

  "has-replicas": ({ info }) =>
    info?.replicas ? `has ${info.replicas === 1 ? "a replica" : `${info.replicas} replicas`}` : null,

  "wake-ups-denied": ({ access: { missingForWakeUps } }) =>
    missingForWakeUps.length > 0
      ? `denies its user permissions for notifications: ${missingForWakeUps.join(" ")}`
      : null,

  "version-old": ({ info }) =>
    info && isOlder(info, 7) && !isOlder(info, 6) ? `runs Redis ${info.version}, which is older than 7.0` : null,

  "evicting-policy": ({ info }) =>
    info && info.maxmemory === 0 && evicts(info)
      ? `would evict keys if its memory were limited (maxmemory-policy ${info.maxmemoryPolicy})`
      : null,

  "no-password": ({ access }) => (access.isOpen ? "accepts clients without a password" : null),

  unencrypted: (_, __, { address }) =>
    !address.isTls && address.machine !== null && address.machine !== "local" ? "is connected to without TLS" : null,
};

/** Returns how a server may forget its replies; null if it does not, or does not show. */
function forgetting({ info, appendfsync, pausesFsync }: ServerView): string | null {
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
