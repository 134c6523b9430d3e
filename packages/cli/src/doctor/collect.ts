import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { networkInterfaces } from "node:os";
import type { LockNames } from "@holdfast/redis";
import type { Redis } from "ioredis";
import { reasonOf } from "../failures.ts";
import { nodeTimeoutOf, type ServerOptions } from "../options/server-options.ts";
import type { Server } from "../servers/servers.ts";
import { within } from "../within.ts";
import { type Ask, asking, textOf } from "./ask.ts";
import type { AddressFacts, Facts, ServerFacts, ServerView } from "./facts.ts";
import { parseInfo } from "./info.ts";
import { measureClock, measureLatency } from "./measure.ts";
import { tryAccess } from "./try-access.ts";

/** The options of {@link collectFacts}. */
export interface CollectOptions extends Pick<ServerOptions, "prefix" | "ttlMs" | "nodeTimeoutMs" | "restartGuardMs"> {
  /** The number of pings per server. Default 100. */
  readonly pings?: number;
  /** The timeout of the connection and of each reply, in milliseconds. Default 3000. */
  readonly answerTimeoutMs?: number;
}

/** The timeout for all facts of one server, in milliseconds. */
const serverTimeoutMs = 20_000;

/** Errors that concern the whole server, whatever the command. */
const isUseless = /^(NOAUTH|WRONGPASS|DENIED|LOADING|BUSY|MASTERDOWN)\b/;

/**
 * Collects the facts of all servers concurrently, with sequential requests to each. Always ends, whatever the servers
 * do.
 */
export async function collectFacts(servers: readonly Server[], options: CollectOptions): Promise<Facts> {
  const { ttlMs, restartGuardMs } = options;
  return {
    servers: await Promise.all(servers.map((server) => collectFrom(server, options))),
    ttlMs,
    nodeTimeoutMs: await nodeTimeoutOf(options),
    restartGuardMs,
  };
}

async function collectFrom(server: Server, options: CollectOptions): Promise<ServerFacts> {
  const { name, client } = server;
  try {
    const view = await within(serverTimeoutMs, look(server, options));
    return { name, address: addressOf(client), failure: null, view };
  } catch (error) {
    return { name, address: addressOf(client), failure: reasonOf(error as Error), view: null };
  }
}

async function look(server: Server, options: CollectOptions): Promise<ServerView> {
  const { prefix, pings = 100, answerTimeoutMs = 3_000 } = options;
  const { client } = server;
  if (!(await within(answerTimeoutMs, server.firstConnection))) {
    throw server.connectionError() ?? new Error("the connection was closed");
  }
  const ask = asking(client, answerTimeoutMs);
  const greeting = await ask("PING");
  if (!greeting.ok && isUseless.test(greeting.error)) throw new Error(greeting.error);

  const latency = await measureLatency(ask, pings);
  const clock = await measureClock(ask);
  const info = textOf(await ask("INFO"));
  const appendfsync = await ask("CONFIG", "GET", "appendfsync");
  const pauses = await ask("CONFIG", "GET", "no-appendfsync-on-rewrite");
  const watchers = await ask("PUBSUB", "NUMSUB", "__sentinel__:hello");

  const resource = `holdfast-doctor-${randomUUID()}`;
  const { lockNames } = await import("@holdfast/redis");
  const names = lockNames(prefix, resource);
  const access = await tryAccess(client, ask, names, prefix);
  const lockFailure = await tryLock(server, resource, options);
  await removeAll(ask, names);
  return {
    latency,
    clock,
    info: info === null ? null : parseInfo(info),
    appendfsync: appendfsync.ok ? secondOf(appendfsync.value) : null,
    pausesFsync: pauses.ok && secondOf(pauses.value) === "yes",
    sentinels: watchers.ok ? Number(secondOf(watchers.value)) : null,
    access,
    lockFailure,
  };
}

/** Returns the value of a pair of a name and a value. */
function secondOf(value: unknown): string | null {
  return Array.isArray(value) && value.length > 1 ? String(value[1]) : null;
}

/** Acquires, extends and releases a lock on the server. The restart guard does not apply here. */
async function tryLock(
  { makeNode }: Server,
  resource: string,
  { prefix, answerTimeoutMs = 3_000 }: CollectOptions,
): Promise<string | null> {
  const node = makeNode({ prefix, fenceTtlMs: 1_000, wakeUps: false, verifyServer: false });
  const request = { resources: [resource], owner: `doctor-${randomUUID()}`, timeoutMs: answerTimeoutMs };
  const claim = { ...request, ttlMs: 5_000 };
  const tried = async (): Promise<string | null> => {
    const acquired = await node.acquire({ ...claim, fenceHint: 1 });
    if (!acquired.granted) return "a lock that nobody holds was denied";
    const extended = await node.extend({ ...claim, fence: acquired.fence, rejoin: false });
    if (!extended.held) return "a lock was gone at once";
    const { released } = await node.release(request);
    return released ? null : "a lock was gone at once";
  };
  try {
    return await within(answerTimeoutMs, tried());
  } catch (error) {
    node.release(request).catch(() => {});
    return reasonOf(error as Error);
  }
}

/** Removes the keys of the trial, which otherwise expire soon. */
async function removeAll(ask: Ask, { lock, fence, waitingList }: LockNames): Promise<void> {
  for (const key of [lock, fence, waitingList]) await ask("DEL", key);
}

function addressOf(client: Redis): AddressFacts {
  const { path, tls, db } = client.options;
  const remote = (client.stream as Socket | undefined)?.remoteAddress;
  return {
    machine: path || (remote !== undefined && isOwn(remote)) ? "local" : (remote ?? null),
    isTls: Boolean(tls),
    database: db ?? 0,
  };
}

/** Returns whether an address belongs to this machine. */
function isOwn(address: string): boolean {
  const plain = address.replace(/^::ffff:/, "");
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return plain.startsWith("127.") || plain === "::1" || own.some((other) => other.address === plain);
}
