/** Values in Redis that refuse late writes of clients that have lost their lock: the storage side of fencing. */
import type { Redis } from "ioredis";

/** A client with a later lock has accessed the value. The work under this token must end. */
export class StaleFenceError extends Error {
  override readonly name = "StaleFenceError";

  constructor(key: string, fence: number, newest: number) {
    super(`could not access ${key} with token ${fence}: it was shown ${newest}`);
  }
}

/** Values that are accessed under a lock, with the lock's token. An access to several values succeeds or fails as a whole. */
export interface FencedValues {
  /**
   * Reads values; null for a missing one. From then on, the values refuse smaller tokens. Otherwise a write of an earlier
   * lock could come between this read and the update that depends on it.
   *
   * @throws {StaleFenceError} when a larger token was shown before
   */
  read(keys: readonly string[], fence: number): Promise<(string | null)[]>;
  /**
   * Writes values by key.
   *
   * @throws {StaleFenceError} when a larger token was shown before; nothing is written then
   */
  write(values: Readonly<Record<string, string>>, fence: number): Promise<void>;
}

/** Each key is a hash of a value and the largest token it was shown. ARGV is the token, and for a write the values. */
const accessScript = `
for _, key in ipairs(KEYS) do
  local newest = redis.call('HGET', key, 'fence')
  if newest and tonumber(newest) > tonumber(ARGV[1]) then return { 'refused', key, newest } end
end
local reply = { 'accepted' }
for i, key in ipairs(KEYS) do
  redis.call('HSET', key, 'fence', ARGV[1])
  if ARGV[i + 1] then redis.call('HSET', key, 'value', ARGV[i + 1]) end
  reply[i + 1] = redis.call('HGET', key, 'value')
end
return reply
`;

/**
 * Stores the values on a Redis server. Use another server than the lock servers, whose loss costs locks but no data. The
 * server must not forget what it has confirmed, tokens above all (`appendfsync always`). On a cluster, keys that are accessed
 * together need a common hash tag.
 */
export function fencedValues(redis: Redis): FencedValues {
  const access = async (keys: readonly string[], fence: number, values: readonly string[] = []) => {
    const reply = await redis.eval(accessScript, keys.length, ...keys, fence, ...values);
    const [verdict, ...rest] = reply as [verdict: string, ...rest: (string | null)[]];
    if (verdict === "accepted") return rest;
    throw new StaleFenceError(String(rest[0]), fence, Number(rest[1]));
  };
  return {
    read: (keys, fence) => access(keys, fence),
    async write(values, fence) {
      await access(Object.keys(values), fence, Object.values(values));
    },
  };
}
