import { isNightly, type RedisServer } from "@holdfast/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { holdfastOverIoredis, holdfastOverNodeRedis } from "./libraries/holdfast.ts";
import type { HeldLock, Library, Locker } from "./libraries/library.ts";
import { theirs } from "./libraries/others.ts";
import { patience, startServers, untilLocked, valuesOf } from "./servers.ts";

const servers = await startServers(isNightly ? 5 : 3);
const ttlMs = 60_000;
let keys = 0;
const freshKey = (): string => `mutex:key-${++keys}`;

for (const library of theirs) {
  describe.each(isNightly ? [1, 3, 5] : [3])("on %i servers", (count) =>
    meet(library, holdfastOverIoredis, servers.slice(0, count)),
  );
  if (isNightly) describe("on 3 servers", () => meet(library, holdfastOverNodeRedis, servers.slice(0, 3)));
}

/** Lets two libraries meet on the same servers, with the roles both ways. */
function meet(library: Library, holdfast: Library, nodes: readonly RedisServer[]): void {
  const lockers = new Map<Library, Locker>();
  beforeAll(async () => {
    const ports = nodes.map(({ port }) => port);
    for (const each of [library, holdfast]) lockers.set(each, await each.connect(ports));
  });
  afterAll(() => {
    for (const locker of lockers.values()) locker.close();
  });

  const tryLock = (by: Library, names: readonly string[]): Promise<HeldLock | null> =>
    (lockers.get(by) as Locker).tryLock(names, ttlMs);
  /** Locks, and waits until all these servers have the lock: it settles at a majority. */
  const lock = async (by: Library, names: readonly string[], on = nodes): Promise<HeldLock> => {
    const held = await untilLocked(lockers.get(by) as Locker, names, ttlMs);
    await expect.poll(() => valuesOf(on, names), patience).toEqual([held.value]);
    return held;
  };
  /**
   * Releases, and waits until none of these servers has the lock: some may get the release a moment after a majority has,
   * and would deny the next lock, which does not ask them again.
   */
  const release = async (held: HeldLock, names: readonly string[], on = nodes): Promise<void> => {
    await held.release();
    await expect.poll(() => valuesOf(on, names), patience).toEqual([null]);
  };

  for (const [one, other] of [
    [holdfast, library],
    [library, holdfast],
  ] as const) {
    test(`a lock of ${one.name} excludes ${other.name} until its release, and can be extended`, async () => {
      const names = [freshKey()];
      const held = await lock(one, names);
      expect(await tryLock(other, names)).toBeNull();
      expect(await held.extend(2 * ttlMs)).toBe(true);
      expect(await tryLock(other, names)).toBeNull();
      expect(await valuesOf(nodes, names)).toEqual([held.value]);
      await release(held, names);
      await release(await lock(other, names), names);
    });

    test(`a lock of ${one.name} that its servers dropped cannot release or extend the next one, of ${other.name}`, async () => {
      const names = [freshKey()];
      const dropped = await lock(one, names);
      for (const { command } of nodes) await command("DEL", ...names);
      const held = await lock(other, names);
      expect(await dropped.extend(ttlMs)).toBe(false);
      await dropped.release();
      expect(await tryLock(one, names)).toBeNull(); // on the same connections: what the release sent has arrived
      expect(await valuesOf(nodes, names)).toEqual([held.value]);
      await release(held, names);
    });

    if (nodes.length > 1) {
      test(`${one.name} gets a majority despite a claim of ${other.name} on a minority, which remains`, async () => {
        const names = [freshKey()];
        const [first, ...rest] = nodes as [RedisServer, ...RedisServer[]];
        const minority = await other.connect([first.port]);
        const claim = await minority.tryLock(names, ttlMs);
        await release(await lock(one, names, rest), names, rest);
        await release(await lock(other, names, rest), names, rest);
        expect(await valuesOf([first], names)).toEqual([claim?.value]);
        minority.close();
      });
    }

    if (library.locksSeveral) {
      test(`a lock of ${one.name} over two keys excludes ${other.name} from either, and a denied attempt leaves nothing behind`, async () => {
        const [a, b, c] = [freshKey(), freshKey(), freshKey()];
        const held = await lock(one, [a, b]);
        expect(await tryLock(other, [b, c])).toBeNull();
        await expect.poll(() => valuesOf(nodes, [c]), patience).toEqual([null]);
        await release(await lock(one, [c]), [c]);
        expect(await held.extend(ttlMs)).toBe(true);
        await release(held, [a, b]);
        await release(await lock(other, [b, c]), [b, c]);
      });
    }
  }
}
