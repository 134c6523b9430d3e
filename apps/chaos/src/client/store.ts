import { Redis } from "ioredis";
import type { Sets } from "../history/visit.ts";

/**
 * Two sets on a server that is not attacked. Adding an element means reading the set and writing it back with one more: two
 * clients that do so at the same time lose an element. Each element names the last one that its writer has read, so
 * reads and writes stay small: an element is in the set if the newest one leads back to it.
 *
 * `plain` is used without tokens and accepts any write, and `fenced` with them.
 */
export type Store = Readonly<Record<"plain" | "fenced", ElementSet>>;

/** A set that remembers the largest token that it was shown, if any, and replies null to smaller ones. */
interface ElementSet {
  /** Resolves with the newest element; empty at first. */
  read(fence?: number): Promise<string | null>;
  /** Writes the set back as it was with that newest element, and with one more. */
  write(newest: string, element: string, fence?: number): Promise<string | null>;
}

/** KEYS are the token and the writes. ARGV is the token, or empty, and for a write the newest element and the added one. */
const touch = `
if ARGV[1] ~= '' then
  local largest = redis.call('GET', KEYS[1])
  if largest and tonumber(ARGV[1]) < tonumber(largest) then return false end
  redis.call('SET', KEYS[1], ARGV[1])
end
if ARGV[3] then redis.call('RPUSH', KEYS[2], ARGV[2] .. ' ' .. ARGV[3]) end
return redis.call('LINDEX', KEYS[2], -1) or ''
`;

/** Connects to the server of the sets. */
export async function connectStore(url: string) {
  const redis = new Redis(url, { lazyConnect: true });
  await redis.connect();
  const touchSet = async (key: string, ...args: (string | number)[]): Promise<string | null> => {
    const write = await redis.eval(touch, 2, `${key}:fence`, `${key}:writes`, ...args);
    return write === null ? null : (String(write).split(" ")[1] ?? "");
  };
  const setAt = (key: string): ElementSet => ({
    read: (fence) => touchSet(key, fence ?? ""),
    write: (newest, element, fence) => touchSet(key, fence ?? "", newest, element),
  });
  const look = async (key: string): Promise<readonly string[]> =>
    elementsOf(await redis.lrange(`${key}:writes`, 0, -1));
  return {
    /** Returns the sets of one slice of the run, or of one resource. */
    of: (name: number | string): Store => ({ plain: setAt(`plain:${name}`), fenced: setAt(`fenced:${name}`) }),
    /** Returns the current elements of these sets. */
    look: async (name: number | string): Promise<Sets> => ({
      plain: await look(`plain:${name}`),
      fenced: await look(`fenced:${name}`),
    }),
    close: (): void => redis.disconnect(),
  };
}

/** Returns the elements to which the last write leads back, the oldest first. */
export function elementsOf(writes: readonly string[]): readonly string[] {
  const newestBefore = new Map(writes.map((write) => write.split(" ").reverse() as [string, string]));
  const elements: string[] = [];
  let [, element = ""] = writes.at(-1)?.split(" ") ?? [];
  for (; element !== ""; element = newestBefore.get(element) ?? "") elements.push(element);
  return elements.reverse();
}
