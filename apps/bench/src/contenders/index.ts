import {
  type Connect,
  type Contender,
  overSeveralServers,
  type Promises,
  type Settings,
  type StoreName,
} from "./contender.ts";

const defaults: Settings = { waiting: "default", isBatching: false, isPatient: false };

const holdfastPromises: Promises = {
  fencingToken: "for each lock",
  checkedValidity: "on two clocks",
  waitingWithoutPolling: "queues and notifications",
  extension: "`using`, `autoExtend`",
  waiting: "first in, first out within a process; between processes, waiting lists on the servers",
};

/** From the sources of the versions in `package.json`. */
const peerPromises = {
  redlock4: { checkedValidity: "yes", waiting: "polls every 200 ± 100 ms, 10 times" },
  redlock5: { extension: "`using`", waiting: "polls every 200 ± 100 ms, 10 times" },
  semaphore: { extension: "always", waiting: "polls every 10 ms for 10 s" },
  universal: {
    checkedValidity: overSeveralServers,
    extension: "`using`",
    waiting: "polls every 100 ms, over several servers 200 ms, 3 times",
  },
} satisfies Record<string, Promises>;

export const holdfastIoredis: Contender = library(
  "holdfast/ioredis",
  holdfastPromises,
  async () => (await import("./holdfast.ts")).overIoredis,
  { role: "holdfast" },
);
const holdfast: readonly Contender[] = [
  holdfastIoredis,
  library("holdfast/node-redis", holdfastPromises, async () => (await import("./holdfast.ts")).overNodeRedis, {
    role: "holdfast",
    client: "node-redis",
  }),
];

const { redlock4, redlock5, semaphore, universal } = peerPromises;
const ioredisPeers: readonly Contender[] = [
  library("redlock 4", redlock4, async () => (await import("./redlock.ts")).redlock4),
  library("redlock 5 beta", redlock5, async () => (await import("./redlock.ts")).redlock5),
  library("@sesamecare-oss/redlock", redlock5, async () => (await import("./redlock.ts")).sesamecare),
  library("redis-semaphore", semaphore, async () => (await import("./redis-semaphore.ts")).connect),
  library("redlock-universal/ioredis", universal, async () => (await import("./universal.ts")).overIoredis),
];

const peers: readonly Contender[] = [
  ...ioredisPeers,
  library("redlock-universal/node-redis", universal, async () => (await import("./universal.ts")).overNodeRedis, {
    client: "node-redis",
  }),
];

/** One of each kind of retry loop. */
const tuned: readonly Contender[] = ioredisPeers
  .filter(({ name }) => ["redlock 5 beta", "redis-semaphore", "redlock-universal/ioredis"].includes(name))
  .map((contender) => variant(contender, "tuned"));

const rawIoredis = reference("raw ioredis", async () => (await import("./raw.ts")).overIoredis);
const bound: readonly Contender[] = [
  reference("raw ioredis, fenced", async () => (await import("./fenced.ts")).connect),
  {
    ...reference("raw ioredis, fenced, batching", async () => (await import("./fenced.ts")).connect),
    settings: { ...defaults, isBatching: true },
  },
];
const publishing = reference("bare", async () => (await import("./published.ts")).connect);

/** Core over nodes in its own process, to count core's own share of a lock. */
export const inMemory: Contender = library(
  "holdfast/memory",
  holdfastPromises,
  async () => (await import("./holdfast.ts")).overMemory,
  { role: "holdfast", client: "none", store: "memory" },
);

/** Two ways to lock with one store. */
export interface StorePair {
  readonly store: StoreName;
  /** The name of the store for readers. */
  readonly title: string;
  readonly holdfast: Contender;
  /** The usual way to lock with this store, without Holdfast. */
  readonly other: Contender;
}

/** All stores, of which each is a single server or file. */
export const storePairs: readonly StorePair[] = [
  {
    ...{ store: "postgres", title: "PostgreSQL" },
    holdfast: holdfastOver("postgres", async () => (await import("./postgres.ts")).overPool),
    other: {
      ...reference("pg_advisory_lock", async () => (await import("./postgres.ts")).advisory),
      ...over("postgres"),
    },
  },
  {
    ...{ store: "etcd", title: "etcd" },
    holdfast: holdfastOver("etcd", async () => (await import("./etcd.ts")).overEtcd),
    other: { ...reference("etcd lock service", async () => (await import("./etcd.ts")).lockService), ...over("etcd") },
  },
  {
    ...{ store: "sqlite", title: "SQLite" },
    holdfast: holdfastOver("sqlite", async () => (await import("./files.ts")).overSqlite),
    other: { ...reference("proper-lockfile", async () => (await import("./files.ts")).lockfile), ...over("sqlite") },
  },
  {
    ...{ store: "redis", title: "Redis", holdfast: holdfastIoredis },
    other: reference("SET NX, polling", async () => (await import("./polling.ts")).connect),
  },
];

/** Contenders for a single store of any kind. */
export const inStores: readonly Contender[] = storePairs.flatMap(({ holdfast, other }) => [holdfast, other]);

/** Contenders for locks without waiting. */
export const uncontended: readonly Contender[] = [...holdfast, ...peers, rawIoredis, ...bound];
/** The same without the bounds. */
export const librariesAndRaw: readonly Contender[] = [...holdfast, ...peers, rawIoredis];
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

function library(
  name: string,
  promises: Promises,
  load: () => Promise<Connect>,
  more: Partial<Contender> = {},
): Contender {
  return { name, role: "peer", client: "ioredis", store: "redis", settings: defaults, promises, load, ...more };
}

function variant(contender: Contender, waiting: Settings["waiting"]): Contender {
  return { ...contender, name: `${contender.name}, ${waiting}`, settings: { ...defaults, waiting } };
}

function reference(name: string, load: () => Promise<Connect>): Contender {
  return { name, role: "reference", client: "ioredis", store: "redis", settings: defaults, load };
}

function holdfastOver(store: StoreName, load: () => Promise<Connect>): Contender {
  return library(`holdfast/${store}`, holdfastPromises, load, { role: "holdfast", ...over(store) });
}

function over(store: StoreName): Pick<Contender, "client" | "store"> {
  return { client: "none", store };
}
