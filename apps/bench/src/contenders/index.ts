import type { Contender, ContenderModule, Settings } from "./contender.ts";

const defaults: Settings = { waiting: "default", awaitsRelease: true, isPatient: false };
const library = { settings: defaults, waits: true, spansProcesses: true, locksSeveral: true };
const byHand = { settings: defaults, waits: false, spansProcesses: true, locksSeveral: false };

const holdfast: readonly Contender[] = [
  { ...library, name: "holdfast/ioredis", role: "ours", load: () => import("./holdfast-ioredis.ts") },
  { ...library, name: "holdfast/node-redis", role: "ours", load: () => import("./holdfast-node-redis.ts") },
  {
    ...library,
    name: "holdfast/memory",
    role: "ours",
    spansProcesses: false,
    load: () => import("./holdfast-memory.ts"),
  },
];

/** Ours, whose callers go on while the release is under way. */
const unawaited: readonly Contender[] = [
  {
    ...library,
    name: "holdfast/ioredis, release not awaited",
    role: "ours",
    settings: { ...defaults, awaitsRelease: false },
    waits: false,
    load: () => import("./holdfast-ioredis.ts"),
  },
];

const peers: readonly Contender[] = [
  peer("redlock 4", () => import("./redlock4.ts"), { package: "redlock4" }),
  peer("redlock 5 beta", () => import("./redlock5.ts"), { package: "redlock5" }),
  peer("@sesamecare-oss/redlock", () => import("./sesamecare.ts"), { package: "@sesamecare-oss/redlock" }),
  peer("redis-semaphore", () => import("./redis-semaphore.ts"), { package: "redis-semaphore", locksSeveral: false }),
  peer("redlock-universal/ioredis", () => import("./universal-ioredis.ts"), {
    package: "redlock-universal",
    locksSeveral: false,
  }),
  peer("redlock-universal/node-redis", () => import("./universal-node-redis.ts"), { locksSeveral: false }),
];

const tuned: readonly Contender[] = peers.map((contender) => ({
  ...contender,
  name: `${contender.name}, tuned`,
  settings: { ...defaults, waiting: "tuned" },
}));

const references: readonly Contender[] = [
  { ...byHand, name: "raw ioredis", role: "raw", load: () => import("./raw-ioredis.ts") },
  { ...byHand, name: "raw node-redis", role: "raw", load: () => import("./raw-node-redis.ts") },
  { ...byHand, name: "raw ioredis, fenced", role: "raw", load: () => import("./fenced-plain.ts") },
  { ...byHand, name: "raw ioredis, fenced, batching", role: "raw", load: () => import("./fenced-batching.ts") },
  { ...byHand, name: "bare socket", role: "floor", load: () => import("./socket-plain.ts") },
  { ...byHand, name: "bare socket, batching", role: "floor", load: () => import("./socket-batching.ts") },
];

/** Who takes part where nobody waits for anybody: how a library waits makes no difference there. */
export const uncontended: readonly Contender[] = [...holdfast, ...unawaited, ...peers, ...references];

/** Who takes part where callers wait for one another. */
export const contended: readonly Contender[] = [...holdfast, ...peers, ...tuned];

/** Who is looked at without being run: the algorithm without an adapter, and other libraries. */
export const imported: readonly Contender[] = [
  {
    ...library,
    name: "@holdfast/core",
    role: "ours",
    spansProcesses: false,
    package: "@holdfast/core",
    load: () => import("./holdfast-memory.ts"),
  },
  ...peers.filter((contender) => contender.package !== undefined),
];

/** All of them. */
export const everyone: readonly Contender[] = [...new Set([...uncontended, ...contended, ...imported])];

/** The contender of this name. */
export function contenderNamed(name: string): Contender {
  const found = everyone.find((contender) => contender.name === name);
  if (found === undefined) throw new RangeError(`there is no contender ${JSON.stringify(name)}`);
  return found;
}

function peer(name: string, load: () => Promise<ContenderModule>, differs: Partial<Contender> = {}): Contender {
  return { ...library, name, role: "peer", load, ...differs };
}
