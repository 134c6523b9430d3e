/** The data that the lock protects: counters. It is separate from the lock nodes, as in a real system. */
export interface Database {
  /**
   * Reads a counter: 0 if it was never written. A counter that is shown a token, by reads and writes, refuses smaller
   * ones from then on.
   *
   * @throws {StaleToken}
   */
  read(counter: string, fence?: number): Promise<number>;
  /**
   * Writes a counter.
   *
   * @throws {StaleToken}
   */
  write(counter: string, value: number, fence?: number): Promise<void>;
  /** Returns the value of a counter, without a token. */
  look(counter: string): Promise<number>;
}

/** The counter has been shown a larger token. */
export class StaleToken extends Error {
  readonly newestFence: number;
  constructor(newestFence: number) {
    super(`the database has seen token ${newestFence}`);
    this.newestFence = newestFence;
  }
}

/** Makes a database in this process. */
export function memoryDatabase(): Database {
  const counters = new Map<string, { value: number; newestFence: number }>();
  const counterOf = (name: string, fence = Infinity) => {
    const counter = counters.get(name) ?? { value: 0, newestFence: 0 };
    counters.set(name, counter);
    if (fence < counter.newestFence) throw new StaleToken(counter.newestFence);
    if (fence !== Infinity) counter.newestFence = fence;
    return counter;
  };
  return {
    read: async (name, fence) => counterOf(name, fence).value,
    async write(name, value, fence) {
      counterOf(name, fence).value = value;
    },
    look: async (name) => counterOf(name).value,
  };
}

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

/** Uses the Redis server that gets the commands. Counters without tokens are as unprotected as HGET and HSET are. */
export function redisDatabase(send: (...command: (string | number)[]) => Promise<unknown>): Database {
  const look = async (counter: string): Promise<number> => Number(await send("HGET", counter, "value"));
  const touch = async (...args: (string | number)[]): Promise<number> => {
    const [answer, number] = (await send("EVAL", touchScript, 1, ...args)) as string[];
    if (answer === "refused") throw new StaleToken(Number(number));
    return Number(number);
  };
  return {
    look,
    read: (counter, fence) => (fence === undefined ? look(counter) : touch(counter, fence)),
    async write(counter, value, fence) {
      await (fence === undefined ? send("HSET", counter, "value", value) : touch(counter, fence, value));
    },
  };
}
