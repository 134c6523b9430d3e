import type { Connect, Contender, Settings, StoreName } from "./contender.ts";
import { over } from "./peer.ts";

const defaults: Settings = { waiting: "default", isBatching: false, isPatient: false };

export const holdfastIoredis: Contender = holdfastOver(
  "ioredis",
  async () => (await import("./holdfast.ts")).overIoredis,
);
const holdfast: readonly Contender[] = [
  holdfastIoredis,
  holdfastOver("node-redis", async () => (await import("./holdfast.ts")).overNodeRedis),
];

const redlockOptions = {
  tuned: { retryDelay: 10, retryJitter: 5, retryCount: 1_000 },
  patient: { retryCount: -1 },
};
const universalOptions = { tuned: { retryDelay: 10, retryAttempts: 1_000 } };
const [redlock, semaphore, universal] = [
  () => import("@holdfast/app-kit/libraries/redlock"),
  () => import("@holdfast/app-kit/libraries/redis-semaphore"),
  () => import("@holdfast/app-kit/libraries/redlock-universal"),
];
const ioredisPeers: readonly Contender[] = [
  peer("redlock 4", async () => over((await redlock()).connectRedlock4, redlockOptions)),
  peer("redlock 5 beta", async () => over((await redlock()).connectRedlock5, redlockOptions)),
  peer("@sesamecare-oss/redlock", async () => over((await redlock()).connectSesamecare, redlockOptions)),
  peer("redis-semaphore", async () => over((await semaphore()).connectRedisSemaphore, { tuned: { retryInterval: 2 } })),
  peer("redlock-universal/ioredis", async () => over((await universal()).connectUniversal, universalOptions)),
];
const peers: readonly Contender[] = [
  ...ioredisPeers,
  peer("redlock-universal/node-redis", async () =>
    over((await universal()).connectUniversalOverNodeRedis, universalOptions),
  ),
];

/** One of each kind of retry loop. */
const tuned: readonly Contender[] = ioredisPeers
  .filter(({ name }) => ["redlock 5 beta", "redis-semaphore", "redlock-universal/ioredis"].includes(name))
  .map((contender) => variant(contender, "tuned"));

const rawIoredis = reference("raw ioredis", async () => (await import("./raw.ts")).overIoredis);
const fenced = reference("raw ioredis, fenced", async () => (await import("./fenced.ts")).connect);
const bound: readonly Contender[] = [
  fenced,
  { ...fenced, name: "raw ioredis, fenced, batching", settings: { ...defaults, isBatching: true } },
];
const publishing = reference("bare", async () => (await import("./published.ts")).connect);

/** Core over nodes in its own process, to count core's own share of a lock. */
export const inMemory: Contender = holdfastOver(
  "memory",
  async () => (await import("./holdfast.ts")).overMemory,
  "memory",
);

/** Ways to lock with one store. */
export interface StorePair {
  readonly store: StoreName;
  /** The name of the store for readers. */
  readonly title: string;
  readonly holdfast: Contender;
  /** The usual way to lock with this store, without Holdfast. */
  readonly other: Contender;
  /** A lock that people write by hand there, if that is usual, too. */
  readonly byHand?: Contender;
}

/** All stores, of which each is a single server or file. */
export const storePairs: readonly StorePair[] = [
  {
    ...{ store: "postgres", title: "PostgreSQL" },
    holdfast: holdfastOver("postgres", async () => (await import("./postgres.ts")).overPool, "postgres"),
    other: reference("pg_advisory_lock", async () => (await import("./postgres.ts")).advisory, "postgres"),
  },
  {
    ...{ store: "mysql", title: "MariaDB" },
    holdfast: holdfastOver("mysql", async () => (await import("./mysql.ts")).overPool, "mysql"),
    other: reference("GET_LOCK()", async () => (await import("./mysql.ts")).getLock, "mysql"),
    byHand: reference("row lease, polling", async () => (await import("./mysql.ts")).rowLease, "mysql"),
  },
  {
    ...{ store: "etcd", title: "etcd" },
    holdfast: holdfastOver("etcd", async () => (await import("./etcd.ts")).overEtcd, "etcd"),
    other: reference("etcd lock service", async () => (await import("./etcd.ts")).lockService, "etcd"),
  },
  {
    ...{ store: "sqlite", title: "SQLite" },
    holdfast: holdfastOver("sqlite", async () => (await import("./files.ts")).overSqlite, "sqlite"),
    other: reference("proper-lockfile", async () => (await import("./files.ts")).lockfile, "sqlite"),
  },
  {
    ...{ store: "redis", title: "Redis", holdfast: holdfastIoredis },
    other: reference("SET NX, polling", async () => (await import("./polling.ts")).connect),
  },
];

/** Contenders for a single store of any kind. */
export const inStores: readonly Contender[] = storePairs.flatMap(({ holdfast, other, byHand }) => [
  holdfast,
  other,
  ...(byHand ? [byHand] : []),
]);

/** Contenders for locks without waiting. */
export const uncontended: readonly Contender[] = [...holdfast, ...peers, rawIoredis, ...bound];
/** Contenders for a lock that many workers want. */
export const contended: readonly Contender[] = [...holdfast, ...ioredisPeers, ...tuned];
/** Contenders for hand-overs between processes. */
export const handingOver: readonly Contender[] = [...holdfast, ...ioredisPeers, publishing];
/** Contenders whose commands are counted. */
export const counted: readonly Contender[] = [...holdfast, inMemory, ...ioredisPeers, rawIoredis];

/** Contenders beside which others wait. */
const guests: readonly Contender[] = [
  ...[inMemory, holdfastIoredis].map((contender) => variant(contender, "deaf")),
  ...ioredisPeers.filter(({ name }) => name === "redlock 5 beta").map((contender) => variant(contender, "patient")),
];

/** All contenders. */
export const everyone: readonly Contender[] = [
  ...new Set([...uncontended, ...contended, ...handingOver, ...counted, ...inStores, ...guests]),
];

/** Finds a contender by name. */
export function contenderNamed(name: string): Contender {
  const found = everyone.find((contender) => contender.name === name);
  if (found === undefined) throw new RangeError(`there is no contender ${JSON.stringify(name)}`);
  return found;
}

function reference(name: string, load: () => Promise<Connect>, store: Contender["store"] = "redis"): Contender {
  return { name, role: "reference", store, settings: defaults, load };
}

function peer(name: string, load: () => Promise<Connect>): Contender {
  return { ...reference(name, load), role: "peer" };
}

function holdfastOver(client: string, load: () => Promise<Connect>, store?: Contender["store"]): Contender {
  return { ...reference(`holdfast/${client}`, load, store), role: "holdfast" };
}

function variant(contender: Contender, waiting: Settings["waiting"]): Contender {
  return { ...contender, name: `${contender.name}, ${waiting}`, settings: { ...defaults, waiting } };
}
