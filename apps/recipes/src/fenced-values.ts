/** Values in Redis that refuse the late writes of those who have lost their lock: the storage side of fencing. */
import type { Redis } from "ioredis";

/** Somebody with a later lock has been here: whatever was being done under the lock with this token is over. */
export class StaleFenceError extends Error {
  override readonly name = "StaleFenceError";

  constructor(key: string, fence: number, newest: number) {
    super(`could not access ${key} with token ${fence}: it was shown ${newest}`);
  }
}

/** Values that are accessed under a lock, by the lock's token. An access to several of them is done as a whole, or refused. */
export interface FencedValues {
  /**
   * Reads values; null where there is none. From then on, smaller tokens are refused: an update that rests on what was
   * read must not be overtaken by a write of an earlier lock, and only the read can tell the storage of it.
   *
   * @throws {StaleFenceError} when a larger token was shown before
   */
  read(keys: readonly string[], fence: number): Promise<(string | null)[]>;
  /**
   * Writes values by their keys.
   *
   * @throws {StaleFenceError} when a larger token was shown before; nothing is written then
   */
  write(values: Readonly<Record<string, string>>, fence: number): Promise<void>;
}

/** Each key is a hash of a value and the largest token it was shown. ARGV is the token, and the values if they are written. */
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
 * Keeps them in a Redis server: another one than the lock servers, whose loss costs locks and not data. It must keep what
 * it has answered (`appendfsync always`), the tokens above all. On a cluster, keys that are accessed together need a
 * common hash tag.
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
