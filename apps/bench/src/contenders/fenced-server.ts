import type { Redis } from "ioredis";
import type { RawServer } from "./raw.ts";

/**
 * The least that a lock with a fencing token takes, in one call for any number of locks: a counter that goes up with each
 * lock, without looking at what it says, and without an end.
 *
 * ARGV: a letter for each step, and what it takes. a: the owner and a ttl, with the keys of a lock and its counter.
 * r: the owner, with the key of a lock.
 */
const fencedScript = `
local answers, key, argument = {}, 1, 2
for step = 1, #ARGV[1] do
  local lock, owner = KEYS[key], ARGV[argument]
  if string.byte(ARGV[1], step) == 97 then
    local isFree = redis.call('SET', lock, owner, 'PX', ARGV[argument + 1], 'NX')
    answers[step] = isFree and redis.call('INCR', KEYS[key + 1])
    key, argument = key + 2, argument + 2
  else
    answers[step] = redis.call('GET', lock) == owner and redis.call('DEL', lock)
    key, argument = key + 1, argument + 1
  end
end
return answers`;

interface Step {
  readonly letter: "a" | "r";
  readonly keys: readonly string[];
  readonly words: readonly string[];
  readonly resolve: (answer: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** A server that counts its locks. */
export async function fencedServer(client: Redis, isBatching: boolean): Promise<RawServer> {
  const sha = String(await client.script("LOAD", fencedScript));
  let batch: Step[] = [];
  const flush = (): void => {
    const steps = batch;
    batch = [];
    const keys = steps.flatMap((step) => step.keys);
    const letters = steps.map(({ letter }) => letter).join("");
    const words = steps.flatMap((step) => step.words);
    client.evalsha(sha, keys.length, ...keys, letters, ...words).then(
      (answers) => {
        for (const [index, { resolve }] of steps.entries()) resolve((answers as unknown[])[index]);
      },
      (error) => {
        for (const { reject } of steps) reject(error);
      },
    );
  };
  const ask = (letter: Step["letter"], keys: readonly string[], words: readonly string[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (isBatching && batch.length === 0) process.nextTick(flush);
      batch.push({ letter, keys, words, resolve, reject });
      if (!isBatching) flush();
    });
  return {
    set: (key, value, ttlMs) => ask("a", [key, `fence:{${key}}`], [value, String(ttlMs)]),
    delete: (key, value) => ask("r", [key], [value]),
  };
}
