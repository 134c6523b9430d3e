import type { Level } from "./levels.ts";

/** How bad a finding is: an error breaks locks, a warning may, a notice is good to know. */
export type Severity = "error" | "warning" | "notice";

/** The worst first. */
export const severities: readonly Severity[] = ["error", "warning", "notice"];

/** All findings of one kind. */
interface Kind {
  readonly severity: Severity;
  /** The level that the servers do not reach because of it; null if it keeps them from none. */
  readonly level: Level | null;
  /** When it is found. */
  readonly when: string;
  /** What to do about it. */
  readonly remedy: string;
}

/** What can be found about one server. */
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

/** What can be found about the servers together. */
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

/** What can be found. */
export type Code = ServerCode | SetCode;

const serverKinds: Readonly<Record<ServerCode, Kind>> = {
  unreachable: {
    severity: "error",
    level: "exclusion",
    when: "there is no connection, no answer, or no way in",
    remedy: "Start it, or correct its address, user or password.",
  },
  replica: {
    severity: "error",
    level: "exclusion",
    when: "it is a replica",
    remedy: "Name a master of its own instead: a replica repeats another server's vote.",
  },
  sentinel: {
    severity: "error",
    level: "exclusion",
    when: "Sentinel watches it, and would put a replica in its place",
    remedy: "Use a server that no Sentinel manages: a failover forgets the claims that had not reached the replica.",
  },
  cluster: {
    severity: "error",
    level: "exclusion",
    when: "it is a member of a Redis Cluster",
    remedy: "Name a server of its own: a member serves only some of the keys, and fails over to its replicas.",
  },
  "cannot-lock": {
    severity: "error",
    level: "exclusion",
    when: "a lock that is tried on it fails, for a reason that no other finding gives",
    remedy: "See what the server says. It counts as a node that fails.",
  },
  "permissions-missing": {
    severity: "error",
    level: "exclusion",
    when: "its user may not do what locks need",
    remedy: "Grant what is missing by ACL SETUSER.",
  },
  "commands-missing": {
    severity: "error",
    level: "exclusion",
    when: "it does not have a command that locks need, as after `rename-command`",
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
    when: "replicas copy it: something that is not seen may put one of them in its place",
    remedy: "Use a server without replicas: a failover, by hand or by a managed service, forgets claims.",
  },
  "forgets-claims": {
    severity: "warning",
    level: "exclusion",
    when: "a restart makes it forget claims, and no restart guard of at least the ttl keeps it from voting meanwhile",
    remedy:
      "Set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no, or give all clients a restart guard of the longest ttl.",
  },
  "restarted-lately": {
    severity: "warning",
    level: "exclusion",
    when: "it did restart, less than a ttl ago",
    remedy: "Wait until the ttl has passed since its start.",
  },
  "clock-differs": {
    severity: "warning",
    level: "exclusion",
    when: "its clock differs from that of this machine by more than 500 ms",
    remedy: "Keep both by a time service. When a clock is set right, claims end earlier or later by as much.",
  },
  hidden: {
    severity: "warning",
    level: "exclusion",
    when: "its user may not look at all that matters",
    remedy: "Run the doctor as a user that may. Locks themselves do not need these permissions.",
  },
  "forgets-counters": {
    severity: "warning",
    level: "fenced",
    when: "a crash makes it forget fence counters",
    remedy: "Set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no.",
  },
  recovering: {
    severity: "warning",
    level: null,
    when: "it has restarted, and the restart guard keeps it from voting",
    remedy: "Wait. Locks rest on the other servers meanwhile.",
  },
  "wake-ups-denied": {
    severity: "warning",
    level: null,
    when: "its user may not announce releases, or listen to them",
    remedy: "Grant what is missing by ACL SETUSER. Until then those who wait try again after a while, all at once.",
  },
  "version-old": {
    severity: "notice",
    level: null,
    when: "it is older than Redis 7.0",
    remedy: "Upgrade: on Redis 6 some errors do not name the key, and min-replicas-to-write does not hold.",
  },
  "evicting-policy": {
    severity: "notice",
    level: null,
    when: "it would evict keys if its memory were limited",
    remedy: "Set maxmemory-policy noeviction, before somebody sets maxmemory.",
  },
  "no-password": {
    severity: "notice",
    level: null,
    when: "it lets everybody in, without a password",
    remedy: "Set requirepass, or ACL users: whoever reaches it can free locks and write counters.",
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
    remedy: "See what is found about the servers. Until then nobody gets a lock.",
  },
  "same-server": {
    severity: "error",
    level: "efficiency",
    when: "a server is named twice, by two addresses or databases",
    remedy: "Name it once: adapters refuse to let one server vote twice.",
  },
  "guard-too-short": {
    severity: "error",
    level: "efficiency",
    when: "the restart guard is shorter than the ttl",
    remedy: "Set a restart guard of at least the longest ttl: adapters refuse what is longer.",
  },
  "clocks-apart": {
    severity: "warning",
    level: "exclusion",
    when: "the clocks of two servers differ by more than 500 ms, though neither is that far from this machine's",
    remedy: "Keep them by a time service. When a clock is set right, claims end earlier or later by as much.",
  },
  "same-machine": {
    severity: "warning",
    level: null,
    when: "so many servers are on one machine that there is no quorum without it",
    remedy: "Put each server on a machine of its own, so that they fail one by one.",
  },
  "node-timeout-too-short": {
    severity: "warning",
    level: null,
    when: "a server takes longer than the node timeout for 1 of 100 answers",
    remedy: "Set the recommended node timeout.",
  },
  "ttl-too-short": {
    severity: "warning",
    level: null,
    when: "the recommended node timeout would be more than a tenth of the ttl, but for the ttl",
    remedy: "Choose a longer ttl, or nearer servers: much of the ttl passes before the lock is there.",
  },
  "single-server": {
    severity: "notice",
    level: null,
    when: "there is one server",
    remedy: "Use three or five where locks must be had while a server is down.",
  },
  "even-number": {
    severity: "notice",
    level: null,
    when: "the number of servers is even",
    remedy:
      "Use an odd number: the last one of an even number adds a server that can fail, and no failure that is survived.",
  },
  "different-versions": {
    severity: "notice",
    level: null,
    when: "the servers have different versions",
    remedy: "Upgrade the older ones, unless an upgrade is under way.",
  },
  "different-databases": {
    severity: "notice",
    level: null,
    when: "the servers are used with different databases",
    remedy: "Make sure that all clients use the same database of each server: in another one nobody sees their locks.",
  },
};

/** All kinds of findings. In this order they are told of, where they are equally bad. */
export const kinds: Readonly<Record<Code, Kind>> = { ...setKinds, ...serverKinds };
