import { listed, longMs, shortMs } from "../output/format.ts";
import type { ServerCode } from "./catalogue.ts";
import type { Facts, ServerFacts, ServerView } from "./facts.ts";

/** What one rule says about a server that answers; null if there is nothing to say. */
type Rule = (view: ServerView, facts: Facts, server: ServerFacts) => string | null;

/** How much clocks may differ. Time services correct less by running a clock faster or slower, and set it for more. */
export const clockDifferenceMsMax = 500;

/** One rule for each finding about a server that answers. Servers of which the same is said are told of together. */
export const serverRules: Readonly<Record<Exclude<ServerCode, "unreachable">, Rule>> = {
  replica: ({ info }) => (info?.replicaOf ? `is a replica of ${info.replicaOf}` : null),

  sentinel: ({ sentinels }) =>
    sentinels ? `is watched by ${sentinels === 1 ? "a sentinel" : `${sentinels} sentinels`}` : null,

  cluster: ({ info }) => (info?.isCluster ? "is a member of a Redis Cluster" : null),

  "cannot-lock": ({ lockFailure, info, access }) => {
    const isExplained = info?.replicaOf || info?.isCluster || access.missing.length + access.unknownCommands.length > 0;
    return lockFailure === null || isExplained ? null : `could not be locked on: ${lockFailure}`;
  },

  "permissions-missing": ({ access, info }, { restartGuardMs }) => {
    const missing = [
      ...access.missing,
      ...(restartGuardMs > 0 && info === null ? ["+info (for the restart guard)"] : []),
    ];
    return missing.length > 0 ? `does not let its user lock: ${missing.join(" ")} missing` : null;
  },

  "commands-missing": ({ access: { unknownCommands } }) =>
    unknownCommands.length > 0 ? `does not know ${listed(unknownCommands)}` : null,

  "version-unsupported": ({ info }) => (info && isOlder(info, 6) ? `runs Redis ${info.version}` : null),

  evicting: ({ info }) =>
    info && info.maxmemory > 0 && evicts(info) ? `evicts keys (maxmemory-policy ${info.maxmemoryPolicy})` : null,

  "forgets-claims": (view, facts) => {
    const reason = forgetting(view);
    if (reason === null || isGuarded(facts)) return null;
    return `${reason}: after a restart it votes again, and has forgotten who holds what`;
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
      ...(sentinels === null ? ["whether Sentinel watches it (+pubsub|numsub)"] : []),
    ];
    return unseen.length > 0 ? `does not show its user ${listed(unseen)}` : null;
  },

  "forgets-counters": (view) => {
    const reason = forgetting(view);
    return reason && `${reason}: after a crash tokens rest on the clocks of clients`;
  },

  recovering: ({ info }, { restartGuardMs }) => {
    const leftMs = info === null ? 0 : recoveringMs(info.uptimeMs, restartGuardMs);
    return leftMs > 0 ? `does not vote for another ${longMs(leftMs)}, as it has restarted` : null;
  },

  "has-replicas": ({ info }) =>
    info?.replicas ? `has ${info.replicas === 1 ? "a replica" : `${info.replicas} replicas`}` : null,

  "wake-ups-denied": ({ access: { missingForWakeUps } }) =>
    missingForWakeUps.length > 0 ? `does not let its user wake others: ${missingForWakeUps.join(" ")} missing` : null,

  "version-old": ({ info }) =>
    info && isOlder(info, 7) && !isOlder(info, 6) ? `runs Redis ${info.version}, which is older than 7.0` : null,

  "evicting-policy": ({ info }) =>
    info && info.maxmemory === 0 && evicts(info)
      ? `would evict keys if its memory were limited (maxmemory-policy ${info.maxmemoryPolicy})`
      : null,

  "no-password": ({ access }) => (access.isOpen ? "lets everybody in without a password" : null),

  unencrypted: (_, __, { address }) =>
    !address.isTls && address.machine !== null && address.machine !== "local" ? "is spoken to without TLS" : null,
};

/** How a server may forget what it has answered; null if it does not, or does not show. */
function forgetting({ info, appendfsync, pausesFsync }: ServerView): string | null {
  if (info === null) return null;
  if (!info.appendonly) return "keeps claims in memory only (appendonly no)";
  if (pausesFsync) return "answers before it has written to disk while it rewrites (no-appendfsync-on-rewrite yes)";
  if (appendfsync === null || appendfsync === "always") return null;
  return `answers before it has written to disk (appendfsync ${appendfsync})`;
}

/** Whether a server that has restarted does not vote until all that it may have forgotten has ended. */
function isGuarded({ restartGuardMs, ttlMs }: Facts): boolean {
  return restartGuardMs >= ttlMs;
}

/** How long a server will not vote, as nodes see it: a server may have been up for almost a second less than it says. */
function recoveringMs(uptimeMs: number, restartGuardMs: number): number {
  return restartGuardMs === 0 ? 0 : Math.max(0, restartGuardMs - (uptimeMs - 1_000));
}

/** Valkey has gone on from Redis 7.2. */
function isOlder({ product, version }: { product: string; version: string }, major: number): boolean {
  return product === "Redis" && Number.parseInt(version, 10) < major;
}

function evicts({ maxmemoryPolicy }: { maxmemoryPolicy: string }): boolean {
  return maxmemoryPolicy !== "" && maxmemoryPolicy !== "noeviction";
}
