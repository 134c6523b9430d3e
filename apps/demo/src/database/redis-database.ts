import type { Database, FencedReply } from "./database.ts";

/** Sends a command to the database server. */
export type SendCommand = (args: string[]) => Promise<unknown>;

/**
 * Reads or writes a fenced counter: a hash of the value and the largest token shown so far. ARGV is the token, and for a
 * write the new value.
 */
const touchScript = `
local newest = redis.call('HGET', KEYS[1], 'fence')
if newest and tonumber(ARGV[1]) < tonumber(newest) then return { 'refused', newest } end
redis.call('HSET', KEYS[1], 'fence', ARGV[1])
if ARGV[2] then redis.call('HSET', KEYS[1], 'value', ARGV[2]) end
return { 'accepted', redis.call('HGET', KEYS[1], 'value') or '0' }
`;

/** Makes a database on a Redis server. The plain counters are as unprotected as GET and SET are. */
export function redisDatabase(send: SendCommand): Database {
  const plainKey = (name: string): string => `plain:${name}`;
  const fencedKey = (name: string): string => `fenced:${name}`;
  const touch = async (name: string, ...args: number[]): Promise<FencedReply> => {
    const [answer, number] = (await send(["EVAL", touchScript, "1", fencedKey(name), ...args.map(String)])) as string[];
    return answer === "accepted"
      ? { accepted: true, value: Number(number) }
      : { accepted: false, newestFence: Number(number) };
  };
  return {
    get: async (name) => Number(await send(["GET", plainKey(name)])),
    set: async (name, value) => void (await send(["SET", plainKey(name), String(value)])),
    getFenced: (name, fence) => touch(name, fence),
    setFenced: (name, fence, value) => touch(name, fence, value),
    async look(name) {
      const plain = await send(["GET", plainKey(name)]);
      return Number(plain ?? (await send(["HGET", fencedKey(name), "value"])));
    },
  };
}
