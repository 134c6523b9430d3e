export { characterAt, lastCharacter } from "./characters.ts";
export { type Fault, FaultyNode } from "./faulty-node.ts";
export { freePort } from "./free-port.ts";
export { fuzzSeed } from "./fuzz-seed.ts";
export { isNightly, repetition } from "./nightly.ts";
export { type ProgramOptions, type ProgramOutcome, runProgram } from "./program.ts";
export { differenceInHistories, drawFrom } from "./random-history.ts";
export { reapedDirectory } from "./reaper.ts";
export { type RedisCluster, startRedisCluster } from "./redis-cluster.ts";
export { type RedisReply, redisCommand } from "./redis-command.ts";
export { type RedisServer, type RedisServerOptions, startRedisServer } from "./redis-server.ts";
export type { TlsEndpoint } from "./redis-tls.ts";
export { reusedConnections } from "./reused-connections.ts";
export { mountSmallDisk } from "./small-disk.ts";
export { stall } from "./stall.ts";
export {
  corrupting,
  endingAfter,
  startTamperingProxy,
  type Tampering,
} from "./tampering-proxy.ts";
export { timersOf } from "./timers-of.ts";
export { VirtualClock } from "./virtual-clock.ts";
