import { randomUUID } from "node:crypto";
import type { RedisNodeOptions } from "@holdfast/ioredis";
import type { LockNames } from "@holdfast/redis";
import type { Redis } from "ioredis";
import type { Latency, ServerView } from "../../doctor/facts.ts";
import { measureClock, measureLatency, tryLock } from "../../doctor/try-lock.ts";
import type { ExamineOptions } from "../server.ts";
import { type Access, type Ask, asking, textOf, tryAccess } from "./try-access.ts";

/** A connection, and the functions of the libraries that were loaded for it. */
export interface Connected {
  /** It has an `error` listener. While it is not ready, commands wait for a bounded number of retries. */
  readonly client: Redis;
  makeNode(options: RedisNodeOptions): ReturnType<typeof import("@holdfast/ioredis").ioredisNode>;
  lockNames(prefix: string, resource: string): LockNames;
}

/** Errors that concern the whole server, whatever the command. */
const isUseless = /^(NOAUTH|WRONGPASS|DENIED|LOADING|BUSY|MASTERDOWN)\b/;

/** Makes the observations that the doctor judges. See `Server.examine`. */
export async function examineRedis(
  { client, prefix, makeNode, lockNames }: Connected & { readonly prefix: string },
  options: ExamineOptions,
): Promise<RedisView> {
  const { pings, answerTimeoutMs } = options;
  const ask = asking(client, answerTimeoutMs);
  const greeting = await ask("PING");
  if (!greeting.ok && isUseless.test(greeting.error)) throw new Error(greeting.error);

  // A ping that the user may not send is answered with an error, just as fast.
  const latency = await measureLatency(() => ask("PING"), pings);
  const clock = await measureClock(() => readClock(ask));
  const infoText = textOf(await ask("INFO"));
  const info = infoText === null ? null : parseInfo(infoText);
  const appendfsync = await ask("CONFIG", "GET", "appendfsync");
  const pauses = await ask("CONFIG", "GET", "no-appendfsync-on-rewrite");
  const watchers = await ask("PUBSUB", "NUMSUB", "__sentinel__:hello");

  // Its hash tag makes every doctor use the same fence counter, which stays.
  const resource = `{holdfast-doctor}-${randomUUID()}`;
  const names = lockNames(prefix, resource);
  const access = await tryAccess(client, ask, names, prefix);
  // The restart guard does not apply here.
  const node = makeNode({ prefix, wakeUps: false, verifyServer: false });
  const { lockFailure } = await tryLock(node, resource, { ...options, pings: 1 });
  await removeAll(ask, names);
  const fsync = appendfsync.ok ? secondOf(appendfsync.value) : null;
  return {
    kind: "redis",
    latency,
    clock,
    info,
    appendfsync: fsync,
    pausesFsync: pauses.ok && secondOf(pauses.value) === "yes",
    sentinels: watchers.ok ? Number(secondOf(watchers.value)) : null,
    access,
    lockFailure,
    summary: {
      identity: info?.runId || null,
      version: info && `${info.product} ${info.version}`,
      uptimeMs: info?.uptimeMs ?? null,
      onDisk: info && (info.appendonly ? fsync : "no"),
    },
  };
}

async function readClock(ask: Ask): Promise<number | null> {
  const answer = await ask("TIME");
  if (!answer.ok || !Array.isArray(answer.value)) return null;
  const [seconds, microseconds] = answer.value.map(Number) as [number, number];
  return seconds * 1_000 + microseconds / 1_000;
}

/** Returns the value of a pair of a name and a value. */
function secondOf(value: unknown): string | null {
  return Array.isArray(value) && value.length > 1 ? String(value[1]) : null;
}

/** Removes the keys of the trial, which otherwise expire soon. The fence counter stays: it covers other locks as well. */
async function removeAll(ask: Ask, { lock, waitingList }: LockNames): Promise<void> {
  for (const key of [lock, waitingList]) await ask("DEL", key);
}

/** The observations of a Redis or Valkey server. Everything that its user may not see is null. */
export interface RedisView extends ServerView {
  readonly kind: "redis";
  readonly latency: Latency;
  readonly info: Info | null;
  /** The setting `appendfsync`. */
  readonly appendfsync: string | null;
  /** Whether it does not wait for the disk during a save or a rewrite (`no-appendfsync-on-rewrite`). */
  readonly pausesFsync: boolean;
  /** The number of sentinels that monitor it. */
  readonly sentinels: number | null;
  readonly access: Access;
}

/** The fields of `INFO`. */
export interface Info {
  readonly product: "Redis" | "Valkey";
  readonly version: string;
  readonly runId: string;
  readonly uptimeMs: number;
  /** The master that it replicates; null if it is a master itself. */
  readonly replicaOf: string | null;
  /** The number of its replicas. */
  readonly replicas: number;
  readonly isCluster: boolean;
  readonly appendonly: boolean;
  /** The limit in bytes; 0: no limit. */
  readonly maxmemory: number;
  readonly maxmemoryPolicy: string;
}

/** Parses the reply to `INFO`. Missing fields get the values of a server without the feature. */
function parseInfo(text: string): Info {
  const fields = new Map(
    text
      .split(/\r?\n/)
      .filter((line) => line.includes(":"))
      .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]),
  );
  const field = (name: string): string => fields.get(name) ?? "";
  const number = (name: string): number => Number(fields.get(name) ?? 0);
  const valkey = fields.get("valkey_version");
  return {
    product: valkey === undefined ? "Redis" : "Valkey",
    version: valkey ?? field("redis_version"),
    runId: field("run_id"),
    uptimeMs: number("uptime_in_seconds") * 1_000,
    replicaOf: field("role") === "slave" ? `${field("master_host")}:${field("master_port")}` : null,
    replicas: number("connected_slaves"),
    isCluster: field("cluster_enabled") === "1",
    appendonly: field("aof_enabled") === "1",
    maxmemory: number("maxmemory"),
    maxmemoryPolicy: field("maxmemory_policy"),
  };
}
