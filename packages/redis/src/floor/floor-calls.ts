import { assertFloor, type FenceFloor, type FloorRequest, type NodeView, type ScannedClaim } from "@holdfast/core/node";
import { isAboutSlots, notConnected, shardError } from "../client-errors.ts";
import type { RedisConnection, ScriptCall } from "../connection.ts";
import { within } from "../deadline.ts";
import { encodeCommand } from "../encoding.ts";
import { floorScript } from "../generated/floor-script.ts";
import { fenceKey, reservationOf, slotCount } from "../keys.ts";
import { integerOf, nonsense, textOf } from "../replies.ts";
import { callScript } from "../script.ts";

/**
 * How many counters are read or raised at once: in one call, which takes a server half a millisecond, or on a cluster in
 * as many calls: GLIDE allows 1 000 in flight.
 */
const countersAtOnce = 512;

/** How many calls are under way at once after the first: servers may be far away, and serve locks in between. */
const callsAtOnce = 4;

/** In how many slots of a cluster to look for claims at once. */
const slotsAtOnce = 64;

/** What the fence counters of a call have in common. */
type Counters = ReturnType<typeof readCounters>;

/**
 * Returns the methods of a node with which operators replace servers. They do not share the calls of locks: a tool uses
 * them a few hundred times, and a request that arrives late does no harm.
 *
 * @param connection sends the script
 * @param prefix the prefix of the lock keys
 * @param inspect returns who holds a resource, with all sharers
 */
export function floorCalls(
  connection: RedisConnection,
  prefix: string,
  inspect: (resource: string) => Promise<NodeView>,
): Required<FenceFloor> {
  const { isCluster } = connection;
  const run = floorScriptOver(connection);

  /** Raises the counters of some slots: in one call, unless the server takes only keys of one slot. */
  const raise = async (from: number, to: number, request: FloorRequest): Promise<readonly Counters[]> => {
    const args = ["raise", String(request.floor), String(request.epoch)];
    const keys = range(from, to).map((slot) => fenceKey(prefix, slot));
    const keysOfCalls = isCluster ? keys.map((key) => [key]) : [keys];
    const calls = keysOfCalls.map(async (keysOfCall, index) =>
      readCounters(await run(keysOfCall, args, request.timeoutMs), from + index),
    );
    return within(request.timeoutMs, Promise.all(calls));
  };

  /** Rejects if a server has restarted since its calls: it may have forgotten the counters raised before. */
  const assertNoRestart = async (all: readonly Counters[], endMs: number): Promise<void> => {
    const slotsByRun = new Map(all.map(({ runId, slot }) => [runId, slot]));
    for (const [runId, slot] of slotsByRun) {
      const [now] = await raise(slot, slot + 1, { floor: 0, epoch: 0, timeoutMs: endMs - performance.now() });
      if (now?.runId !== runId) throw new Error("the server has restarted, so the floor must be raised again");
    }
  };

  /**
   * Finds the resources that may be claimed: of some slots on a cluster, otherwise a portion of all. Returns them with
   * the next position, "0" at the end.
   */
  const find = async (position: string, runId: string, timeoutMs: number) => {
    const pattern = `${prefix.replaceAll(/[\\*?[\]]/g, "\\$&")}*`; // a glob that matches only this prefix
    const findCall = async (keys: readonly string[], cursor: string, slot: string) => {
      const reply = await run(keys, ["find", cursor, runId, prefix, pattern, slot], timeoutMs);
      const [, next, ...resources] = reply.map(textOf);
      if (next === undefined || resources.includes(undefined)) throw nonsense("scan", reply);
      // With a prefix such as "holdfast:", the counters have it, too.
      const isLock = (resource: string) => reservationOf(prefix + resource) === undefined;
      return { resources: (resources as string[]).filter(isLock), next };
    };
    if (!isCluster) return within(timeoutMs, findCall([], position, ""));
    const from = Number(position);
    const to = Math.min(from + slotsAtOnce, slotCount);
    const calls = range(from, to).map((slot) => findCall([fenceKey(prefix, slot)], "0", String(slot)));
    const resources = (await within(timeoutMs, Promise.all(calls))).flatMap((found) => found.resources);
    return { resources, next: to === slotCount ? "0" : String(to) };
  };

  const claimsOn = async (resource: string): Promise<readonly ScannedClaim[]> => {
    const { owner, remainingMs, sharers } = await inspect(resource);
    if (owner === null) return [];
    const claims = sharers ?? [{ owner, remainingMs: remainingMs ?? Infinity }];
    return claims.map((claim) => ({ resource, ...claim }));
  };

  return {
    async raiseFloor(request) {
      assertFloor(request);
      const isRead = request.floor === 0 && request.epoch === 0;
      const endMs = performance.now() + request.timeoutMs;
      const all: Counters[] = [];
      const starts = range(0, slotCount / countersAtOnce).map((index) => index * countersAtOnce);
      while (starts.length > 0) {
        const timeoutMs = endMs - performance.now();
        const calls = starts.splice(0, all.length === 0 || isCluster ? 1 : callsAtOnce).map((slot) => {
          return raise(slot, slot + countersAtOnce, { ...request, timeoutMs });
        });
        const portion = (await Promise.all(calls)).flat();
        all.push(...portion);
        // Reading ends here: there is neither a floor nor an epoch.
        if (isRead && portion.some(({ lowest, epoch }) => lowest === 0 && epoch === 0)) break;
      }
      await assertNoRestart(all, endMs);
      return { floor: Math.min(...all.map(({ lowest }) => lowest)), epoch: Math.min(...all.map(({ epoch }) => epoch)) };
    },

    async scan({ cursor, claims: wantsClaims = true, timeoutMs }) {
      const { kind, position, runId } = readCursor(cursor, isCluster);
      if (kind === "keys") {
        const { resources, next } = await find(position, runId, timeoutMs);
        const claims = (await within(timeoutMs, Promise.all(resources.map(claimsOn)))).flat();
        return { counters: 0, highest: 0, claims, ...(next !== "0" && { cursor: cursorOf("keys", next, runId) }) };
      }
      const slot = Number(position);
      const next = Math.min(slot + countersAtOnce, slotCount);
      const all = await raise(slot, next, { floor: 0, epoch: 0, timeoutMs });
      const presentRunId = isCluster ? "" : (all[0] as Counters).runId;
      if (runId !== "" && presentRunId !== runId)
        throw new Error("ERR the server has restarted, so the scan must begin again");
      const isLast = next === slotCount;
      const rest = isLast ? cursorOf("keys", "0", presentRunId) : cursorOf("counters", String(next), presentRunId);
      return {
        counters: all.reduce((sum, { count }) => sum + count, 0),
        highest: Math.max(...all.map(({ highest }) => highest)),
        claims: [],
        ...((wantsClaims || !isLast) && { cursor: rest }),
      };
    },
  };
}

/** Returns the integers from the first up to, and without, the second. */
function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** Returns a cursor: a slot, or where a search for keys is; and the run of the server, unless it is a cluster. */
function cursorOf(kind: "counters" | "keys", position: string, runId: string): string {
  return runId === "" ? `${kind} ${position}` : `${kind} ${position}@${runId}`;
}

/** Reads a cursor. Throws if no node of this kind makes it: it would skip keys, or never end. */
function readCursor(cursor: string | undefined, isCluster: boolean) {
  if (cursor === undefined) return { kind: "counters", position: "0", runId: "" };
  const [, kind, position = "", runId = ""] = /^(counters|keys) (\d{1,20})(?:@([0-9a-f]{40}))?$/.exec(cursor) ?? [];
  const isSlot = isCluster || kind === "counters";
  if (kind === undefined || (runId === "") !== isCluster || (isSlot && Number(position) >= slotCount)) {
    throw new RangeError("cursor must be one that a portion of this node had");
  }
  return { kind, position, runId };
}

/** Returns a function that calls the script, and resolves with its reply without the call id. */
function floorScriptOver(connection: RedisConnection) {
  return async (keys: readonly string[], args: readonly string[], timeoutMs: number): Promise<readonly unknown[]> => {
    const [firstKey = ""] = keys;
    if (!connection.isReady(firstKey)) throw notConnected(connection, firstKey);
    const reply = callScript(floorScript, timeoutMs, (command, script, callId, leftMs) => {
      const keyCount = keys.length;
      const words = [...keys, callId, ...args];
      const encode = () => encodeCommand([command, script, String(keyCount), ...words]);
      const call: ScriptCall = { firstKey, keyCount, keysAndArguments: () => [...words], encode };
      return connection.runScript(command, script, call, leftMs);
    });
    return reply.catch((error: Error) => {
      if (!isAboutSlots(error.message)) throw error;
      throw shardError("the fence counters are on several shards", error.message);
    });
  };
}

/** Reads the reply about the counters from a slot on: how many there are, and on which run of the server. */
function readCounters(reply: readonly unknown[], slot: number) {
  const runId = textOf(reply[0]);
  const numbers = reply.slice(1).map(integerOf);
  if (runId === undefined || numbers.length !== 4 || !(Math.min(...numbers) >= 0)) throw nonsense("raiseFloor", reply);
  const [count, lowest, highest, epoch] = numbers as [number, number, number, number];
  return { slot, runId, count, lowest, highest, epoch };
}
