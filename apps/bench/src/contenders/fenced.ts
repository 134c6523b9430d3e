/** A lock with a fencing token by ioredis alone. */
import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import type { Redis } from "ioredis";
import { type Connect, ttlMs } from "./contender.ts";
import { type RawServer, rawClient } from "./raw.ts";

/**
 * The commands of a Holdfast lock that nobody else wants, and no more: no epoch, no clamp, no lifetime of the counter, no
 * reply but the token. Any number of operations in one call.
 *
 * KEYS: lock and counter of each acquire, lock and waiting list of each release.
 * ARGV[1]: a letter for each operation, "a" or "r". ARGV[2...]: owner, ttl and hint of each acquire, owner of each release.
 */
const fencedScript = `
local replies, key, argument = {}, 1, 2
for index = 1, #ARGV[1] do
  local lock, other, owner = KEYS[key], KEYS[key + 1], ARGV[argument]
  if string.byte(ARGV[1], index) == 97 then
    local counter = tonumber(redis.call('GET', other) or 0)
    local isFree = redis.call('SET', lock, owner, 'PX', ARGV[argument + 1], 'NX')
    if isFree then
      local hint = tonumber(ARGV[argument + 2])
      local fence = hint > counter and ARGV[argument + 2] or string.format('%.0f', counter + 1)
      redis.call('SET', other, fence)
      replies[index] = fence
    else
      replies[index] = false
    end
    argument = argument + 3
  else
    replies[index] = redis.call('GET', lock) == owner and redis.call('DEL', lock)
    if replies[index] then
      redis.call('PUBLISH', lock, redis.call('ZPOPMIN', other)[1] or '')
    end
    argument = argument + 1
  end
  key = key + 2
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
    set: (key, value) => call("a", [key, `fence:{${key}}`], [value, String(ttlMs), String(Date.now() * 1_000)]),
    delete: (key, value) => call("r", [key, `waiting:{${key}}`], [value]),
  };
}
