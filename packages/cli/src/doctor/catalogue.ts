import type { Level } from "./levels.ts";

/** The severity of a finding: an error breaks locks, a warning may break them, and a notice is information. */
export type Severity = "error" | "warning" | "notice";

/** All severities, the worst first. */
export const severities: readonly Severity[] = ["error", "warning", "notice"];

/** A kind of finding. */
interface Kind {
  readonly severity: Severity;
  /** The level that the servers miss because of it; null if none. */
  readonly level: Level | null;
  /** The condition under which it is found. */
  readonly when: string;
  /** The remedy. */
  readonly remedy: string;
}

/** The findings about a single server. */
export type ServerCode =
  | "unreachable"
  | "replica"
  | "sentinel"
  | "cluster"
  | "cannot-lock"
  | "permissions-missing"
  | "commands-missing"
  | "version-unsupported"
  | "evicting"
  | "forgets-claims"
  | "restarted-lately"
  | "clock-differs"
  | "hidden"
  | "forgets-counters"
  | "recovering"
  | "has-replicas"
  | "wake-ups-denied"
  | "version-old"
  | "evicting-policy"
  | "no-password"
  | "unencrypted";

/** The findings about all servers together. */
export type SetCode =
  | "no-quorum"
  | "same-server"
  | "guard-too-short"
  | "clocks-apart"
  | "same-machine"
  | "node-timeout-too-short"
  | "ttl-too-short"
  | "single-server"
  | "even-number"
  | "different-versions"
  | "different-databases";

/** All findings. */
export type Code = ServerCode | SetCode;

const serverKinds: Readonly<Record<ServerCode, Kind>> = {
  unreachable: {
    severity: "error",
    level: "exclusion",
    when: "it cannot be connected to, does not reply, or refuses the login",
    remedy: "Start it, or correct its address, user or password.",
  },
  replica: {
    severity: "error",
    level: "exclusion",
    when: "it is a replica",
    remedy: "Use an independent master instead: a replica repeats another server's vote.",
  },
  sentinel: {
    severity: "error",
    level: "exclusion",
    when: "Sentinel monitors it, and would replace it by a replica",
    remedy: "Use a server that no Sentinel manages: a failover loses the claims that had not reached the replica.",
  },
  cluster: {
    severity: "error",
    level: "exclusion",
    when: "it is a member of a Redis Cluster",
    remedy: "Use a standalone server: a cluster member serves only some of the keys, and fails over to its replicas.",
  },
  "cannot-lock": {
    severity: "error",
    level: "exclusion",
    when: "a trial lock on it fails, for a reason that no other finding explains",
    remedy: "See the error of the server. It counts as a node that fails.",
  },
  "permissions-missing": {
    severity: "error",
    level: "exclusion",
    when: "its user lacks permissions that locks need",
    remedy: "Grant the missing permissions with ACL SETUSER.",
  },
  "commands-missing": {
    severity: "error",
    level: "exclusion",
    when: "it lacks a command that locks need, for example after `rename-command`",
    remedy: "Undo rename-command, or use a server that has these commands.",
  },
  "version-unsupported": {
    severity: "error",
    level: "exclusion",
    when: "it is older than Redis 6.0",
    remedy: "Upgrade to Redis 7.0 or later, or to Valkey.",
  },
  evicting: {
    severity: "error",
    level: "exclusion",
    when: "it evicts keys when its memory is full",
    remedy: "Set maxmemory-policy noeviction: an evicted key is a lost claim, or a lost counter.",
  },
  "has-replicas": {
    severity: "warning",
    level: "exclusion",
    when: "it has replicas: a mechanism that the doctor cannot see may promote one of them",
    remedy: "Use a server without replicas: a failover, by hand or by a managed service, loses claims.",
  },
  "forgets-claims": {
    severity: "warning",
    level: "exclusion",
    when: "it forgets claims in a restart, and no restart guard of at least the ttl keeps it from voting afterwards",
    remedy:
      "Set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no, or give all clients a restart guard of the longest ttl.",
  },
  "restarted-lately": {
    severity: "warning",
    level: "exclusion",
    when: "it restarted less than a ttl ago, and may have forgotten claims",
    remedy: "Wait until a ttl has passed since its start.",
  },
  "clock-differs": {
    severity: "warning",
    level: "exclusion",
    when: "its clock differs from that of this machine by more than 500 ms",
    remedy:
      "Synchronise both with a time service. When a clock is corrected, claims end earlier or later by the difference.",
  },
  hidden: {
    severity: "warning",
    level: "exclusion",
    when: "its user may not see everything that matters",
    remedy: "Run the doctor as a user with these permissions. Locks themselves do not need them.",
  },
  "forgets-counters": {
    severity: "warning",
    level: "fenced",
    when: "it forgets fence counters in a crash",
    remedy: "Set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no.",
  },
  recovering: {
    severity: "warning",
    level: null,
    when: "it has restarted, and does not vote during the restart guard",
    remedy: "Wait. Meanwhile, locks depend on the other servers.",
  },
  "wake-ups-denied": {
    severity: "warning",
    level: null,
    when: "its user may not publish releases, or subscribe to them",
    remedy:
      "Grant the missing permissions with ACL SETUSER. Until then, waiters retry after a delay, or all at the same time.",
  },
  "version-old": {
    severity: "notice",
    level: null,
    when: "it is older than Redis 7.0",
    remedy: "Upgrade: on Redis 6, some errors do not name the key, and min-replicas-to-write has no effect on locks.",
  },
  "evicting-policy": {
    severity: "notice",
    level: null,
    when: "it would evict keys if its memory were limited",
    remedy: "Set maxmemory-policy noeviction before anyone sets maxmemory.",
  },
  "no-password": {
    severity: "notice",
    level: null,
    when: "it accepts clients without a password",
    remedy: "Set requirepass, or ACL users: any client that reaches it can release locks and write counters.",
  },
  unencrypted: {
    severity: "notice",
    level: null,
    when: "it is on another machine, and the connection has no TLS",
    remedy: "Use rediss:// unless the network is trusted: the password and the owners of locks can be read.",
  },
};

const setKinds: Readonly<Record<SetCode, Kind>> = {
  "no-quorum": {
    severity: "error",
    level: "efficiency",
    when: "fewer servers than a quorum grant locks",
    remedy: "See the findings about the servers. Until then, no client gets a lock.",
  },
  "same-server": {
    severity: "error",
    level: "efficiency",
    when: "a server is named twice, by two addresses or databases",
    remedy: "Name it once: adapters do not let one server vote twice.",
  },
  "guard-too-short": {
    severity: "error",
    level: "efficiency",
    when: "the restart guard is shorter than the ttl",
    remedy: "Set a restart guard of at least the longest ttl: adapters refuse longer ttls.",
  },
  "clocks-apart": {
    severity: "warning",
    level: "exclusion",
    when: "the clocks of two servers differ by more than 500 ms, though neither differs that much from this machine's",
    remedy:
      "Synchronise them with a time service. When a clock is corrected, claims end earlier or later by the difference.",
  },
  "same-machine": {
    severity: "warning",
    level: null,
    when: "so many servers share a machine that there is no quorum without it",
    remedy: "Run each server on a separate machine, so that they fail independently.",
  },
  "node-timeout-too-short": {
    severity: "warning",
    level: null,
    when: "a server exceeds the node timeout in 1 of 100 replies",
    remedy: "Set the recommended node timeout.",
  },
  "ttl-too-short": {
    severity: "warning",
    level: null,
    when: "a tenth of the ttl is less than five times the 99th percentile of the slowest server",
    remedy: "Choose a longer ttl, or closer servers: much of the ttl passes before the lock is granted.",
  },
  "single-server": {
    severity: "notice",
    level: null,
    when: "there is one server",
    remedy: "Use three or five servers if locks must be available while one is down.",
  },
  "even-number": {
    severity: "notice",
    level: null,
    when: "the number of servers is even",
    remedy: "Use an odd number: the last server of an even number can fail, but lets no further failure be survived.",
  },
  "different-versions": {
    severity: "notice",
    level: null,
    when: "the servers have different versions",
    remedy: "Upgrade the older ones, unless an upgrade is in progress.",
  },
  "different-databases": {
    severity: "notice",
    level: null,
    when: "the servers are used with different databases",
    remedy:
      "Make sure that all clients use the same database on each server: locks in another database are invisible to them.",
  },
};

/** All kinds of findings. Findings of equal severity are reported in this order. */
export const kinds: Readonly<Record<Code, Kind>> = { ...setKinds, ...serverKinds };
