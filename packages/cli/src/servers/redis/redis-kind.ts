import { isUtf8 } from "node:buffer";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { RedisNodeOptions } from "@holdfast/ioredis";
import type { Redis } from "ioredis";
import { withoutArguments } from "../../output/print.ts";
import { within } from "../../within.ts";
import { connectTimeoutMs, machineOf, type Server, type ServerKind, type TlsOptions } from "../server.ts";
import { examineRedis } from "./examine-redis.ts";
import { parseRedisAddress, type RedisAddress, wrongSchemeOf } from "./redis-address.ts";

const defaultPrefix = "lock:";
/** A TLS handshake that takes longer, in milliseconds, may be one that the port does not understand. */
const handshakeMs = 300;
/** A connection without a reply for this long counts as lost. */
const silenceMs = 10_000;
const reconnectDelayMaxMs = 1_000;
/** How long a server may take to close its side of the connection. */
const closeTimeoutMs = 200;

/** Redis and Valkey, over ioredis. */
export const redisKind: ServerKind<RedisAddress> = {
  forms: "redis://[user:password@]host[:port][/db], rediss://… for TLS, host:port, or unix:///path/of/socket[?db=N]",
  scheme: /^(rediss?|unix|redis\+socket):\/\/|^(?![a-z][a-z0-9+.-]*:\/\/)/i,
  parse: parseRedisAddress,
  async open(address, options) {
    const [{ Redis }, { ioredisNode }, { lockNames }] = await Promise.all([
      import("ioredis"),
      import("@holdfast/ioredis"),
      import("@holdfast/redis"),
    ]);
    const { prefix = defaultPrefix, restartGuardMs, tls } = options;
    const client = new Redis(redisOptions(address, tls));
    const makeNode = (nodeOptions: RedisNodeOptions) => ioredisNode(client, nodeOptions);
    const connection = connect(client, address);
    const node = makeNode({ prefix, restartGuardMs });
    return {
      name: node.name,
      node,
      prefix,
      ...connection,
      list: (pattern, nodeTimeoutMs) => {
        if (client.status !== "ready") throw connection.connectionError() ?? new Error("not connected");
        return listKeys(client, prefix, pattern, nodeTimeoutMs);
      },
      address: () => addressOf(client),
      examine: (examination) => examineRedis({ client, makeNode, lockNames, prefix }, examination),
      async close() {
        await node.close();
        client.disconnect();
      },
    };
  },
};

/** Connects, and finds out why if that fails. */
function connect(
  client: Redis,
  address: RedisAddress,
): Pick<Server, "firstConnection" | "connectionError" | "isMisaddressed"> {
  let problem: Error | undefined;
  client.on("error", (error: Error & { readonly command?: { readonly name: string } }) => {
    problem = error;
    // If nothing is thrown here, the client continues in another database than the requested one.
    if (error.command?.name === "select") throw new Error(withoutArguments(error.message));
  });
  const connected = client.connect().then(
    () => true,
    () => false,
  );
  let wrongScheme: Error | undefined;
  client.on("ready", () => {
    problem = undefined;
    wrongScheme = undefined;
  });
  const attempt = async (): Promise<boolean> => {
    const isReady = await (address.isTls ? Promise.race([connected, pause(handshakeMs)]) : connected);
    if (isReady) return true;
    const maySchemeBeWrong = isReady === undefined || !isUnrelatedToScheme(problem);
    if (maySchemeBeWrong) wrongScheme = await wrongSchemeOf(address);
    return wrongScheme === undefined ? connected : false;
  };
  return {
    firstConnection: attempt(),
    connectionError: () => wrongScheme ?? problem,
    isMisaddressed: () => wrongScheme !== undefined,
  };
}

function pause(ms: number): Promise<undefined> {
  return sleep(ms, undefined, { ref: false });
}

/** Returns whether an error shows that the port was reached and understood, or not reached at all. */
function isUnrelatedToScheme(error: NodeJS.ErrnoException | undefined): boolean {
  if (error?.name === "ReplyError") return true;
  return error?.code !== undefined && !/^(ECONNRESET|EPIPE|EPROTO|ERR_SSL_.*)$/.test(error.code);
}

function addressOf(client: Redis): ReturnType<Server["address"]> {
  const { path, tls, db } = client.options;
  const { remoteAddress } = (client.stream as Socket | undefined) ?? {};
  return { machine: path ? "local" : machineOf(remoteAddress), isTls: Boolean(tls), database: db ?? 0 };
}

function redisOptions({ isTls, ...where }: RedisAddress, tls: TlsOptions) {
  return {
    ...where,
    ...(isTls && { tls }),
    lazyConnect: true,
    connectTimeout: connectTimeoutMs,
    disconnectTimeout: closeTimeoutMs,
    socketTimeout: silenceMs,
    retryStrategy: (times: number) => Math.min(50 * 2 ** Math.min(times, 10), reconnectDelayMaxMs),
    // The ready check calls INFO, and prints a warning if the user may not.
    enableReadyCheck: false,
    connectionName: "holdfast",
  };
}

/** The number of keys that a server checks per request, which takes well below a millisecond. */
const batchSize = 1_000;

/** Matches fence counters, which are strings like locks, and other keys whose names no lock may have. */
const reservedKey = /^holdfast:(fence|sharers):/;

/** Lists the keys of locks by a sequence of `SCAN`s, between which the server serves other clients. */
async function* listKeys(client: Redis, prefix: string, pattern: string, nodeTimeoutMs: number): AsyncIterable<string> {
  const match = escapeGlob(prefix) + pattern;
  let cursor = "0";
  do {
    // As bytes, because decoding would lose those that are not UTF-8.
    const request = client.scanBuffer(cursor, "MATCH", match, "COUNT", batchSize, "TYPE", "string");
    const [next, keys] = await within(nodeTimeoutMs, request);
    for (const bytes of keys) {
      const key = bytes.toString();
      // No lock has a name that is not UTF-8.
      if (isUtf8(bytes) && isLockKey(key, prefix)) yield key.slice(prefix.length);
    }
    cursor = next.toString();
  } while (cursor !== "0");
}

function isLockKey(key: string, prefix: string): boolean {
  return key.length > prefix.length && key.startsWith(prefix) && !reservedKey.test(key);
}

/** Returns a glob that matches exactly this text. */
function escapeGlob(text: string): string {
  return text.replaceAll(/[\\*?[\]]/g, "\\$&");
}
