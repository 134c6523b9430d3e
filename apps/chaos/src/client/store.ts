import { Redis } from "ioredis";
import type { Sets } from "../history/visit.ts";

/**
 * Two sets, each under one key of a server that is not attacked. Adding an element means reading the set and writing it back
 * with one more: two clients that do so at the same time lose an element.
 */
export interface Store {
  /** The set that accepts any write. */
  readonly plain: {
    read(): Promise<readonly string[]>;
    write(elements: readonly string[]): Promise<void>;
  };
  /** The set that remembers the largest token that it was shown, and replies null to smaller ones. */
  readonly fenced: {
    read(fence: number): Promise<readonly string[] | null>;
    write(fence: number, elements: readonly string[]): Promise<readonly string[] | null>;
  };
}

/** ARGV is the token, and for a write the new elements. */
const touch = `
local newest = redis.call('HGET', KEYS[1], 'fence')
if newest and tonumber(ARGV[1]) < tonumber(newest) then return false end
redis.call('HSET', KEYS[1], 'fence', ARGV[1])
if ARGV[2] then redis.call('HSET', KEYS[1], 'elements', ARGV[2]) end
return redis.call('HGET', KEYS[1], 'elements') or ''
`;

/** Connects to the server of the sets. */
export async function connectStore(url: string) {
  const redis = new Redis(url, { lazyConnect: true });
  await redis.connect();
  const touchFenced = async (key: string, ...args: (string | number)[]): Promise<readonly string[] | null> => {
    const text = await redis.eval(touch, 1, key, ...args);
    return text === null ? null : elementsOf(String(text));
  };
  return {
    /** Returns the sets of one slice of the run. */
    of(slice: number): Store {
      const plainKey = `plain:${slice}`;
      const fencedKey = `fenced:${slice}`;
      return {
        plain: {
          read: async () => elementsOf((await redis.get(plainKey)) ?? ""),
          write: async (elements) => void (await redis.set(plainKey, elements.join(" "))),
        },
        fenced: {
          read: (fence) => touchFenced(fencedKey, fence),
          write: (fence, elements) => touchFenced(fencedKey, fence, elements.join(" ")),
        },
      };
    },
    /** Returns the current elements of the sets of a slice. */
    async look(slice: number): Promise<Sets> {
      const plain = await redis.get(`plain:${slice}`);
      const fenced = await redis.hget(`fenced:${slice}`, "elements");
      return { plain: elementsOf(plain ?? ""), fenced: elementsOf(fenced ?? "") };
    },
    close: (): void => redis.disconnect(),
  };
}

function elementsOf(text: string): string[] {
  return text === "" ? [] : text.split(" ");
}
