/** A lock with a fencing token by ioredis alone. */
import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import type { Redis } from "ioredis";
import type { Connect } from "./contender.ts";
import { type RawServer, rawClient } from "./raw.ts";

/**
 * The shortest script for locks with tokens, with any number of operations in one call. The counter only grows: no hint, no
 * clamp, no ttl.
 *
 * KEYS: lock and counter of each acquire, lock of each release.
 * ARGV[1]: a letter for each operation, "a" or "r". ARGV[2...]: owner and ttl of each acquire, owner of each release.
 */
const fencedScript = `
local replies, key, argument = {}, 1, 2
for index = 1, #ARGV[1] do
  local lock, owner = KEYS[key], ARGV[argument]
  if string.byte(ARGV[1], index) == 97 then
    local isFree = redis.call('SET', lock, owner, 'PX', ARGV[argument + 1], 'NX')
    replies[index] = isFree and redis.call('INCR', KEYS[key + 1])
    key, argument = key + 2, argument + 2
  else
    replies[index] = redis.call('GET', lock) == owner and redis.call('DEL', lock)
    key, argument = key + 1, argument + 1
  end
end
return replies`;

interface Operation {
  readonly letter: "a" | "r";
  readonly keys: readonly string[];
  readonly fields: readonly string[];
  readonly resolve: (reply: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** Sends one script call for each operation, or one for all operations of a tick. */
export const connect: Connect = async (ports, { isBatching }) => {
  const clients = await connectIoredis(ports);
  const servers = await Promise.all(clients.map((client) => fencedServer(client, isBatching)));
  return rawClient(servers, () => disconnect(clients));
};

async function fencedServer(client: Redis, isBatching: boolean): Promise<RawServer> {
  const sha = String(await client.script("LOAD", fencedScript));
  let batch: Operation[] = [];
  const flush = (): void => {
    const operations = batch;
    batch = [];
    const keys = operations.flatMap((operation) => operation.keys);
    const letters = operations.map(({ letter }) => letter).join("");
    const fields = operations.flatMap((operation) => operation.fields);
    client.evalsha(sha, keys.length, ...keys, letters, ...fields).then(
      (replies) => {
        for (const [index, { resolve }] of operations.entries()) resolve((replies as unknown[])[index]);
      },
      (error) => {
        for (const { reject } of operations) reject(error);
      },
    );
  };
  const call = (letter: Operation["letter"], keys: readonly string[], fields: readonly string[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (isBatching && batch.length === 0) process.nextTick(flush);
      batch.push({ letter, keys, fields, resolve, reject });
      if (!isBatching) flush();
    });
  return {
    set: (key, value, ttlMs) => call("a", [key, `fence:{${key}}`], [value, String(ttlMs)]),
    delete: (key, value) => call("r", [key], [value]),
  };
}
