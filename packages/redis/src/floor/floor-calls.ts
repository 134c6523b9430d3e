import type { FenceFloor, FloorRequest, NodeView, ScannedClaim, ScanPortion } from "@holdfast/core";
import { assertFloor } from "@holdfast/core/requests";
import { slotCount, tagOfSlot } from "../cluster-slot.ts";
import type { RedisConnection, ScriptCall } from "../connection.ts";
import { within } from "../deadline.ts";
import { encodeCommand } from "../encoding.ts";
import { floorScript } from "../generated/floor-script.ts";
import { fenceKey } from "../keys.ts";
import { messageOf } from "../message-of.ts";
import { notConnected } from "../not-connected.ts";
import { integerOf, isCount, nonsense, textOf } from "../replies.ts";
import { callScript, newCallId } from "../script.ts";

/** How many counters a call reads or raises. It takes a server about a millisecond. */
const countersInCall = 1_024;

/** How many calls are in flight at once on a cluster, where each has one slot. */
const callsAtOnce = 64;

/** What the fence counters of a call have in common. */
interface Counters {
  /** The first of their slots. */
  readonly slot: number;
  /** The run of the server that has them. */
  readonly runId: string;
  readonly count: number;
  readonly lowest: number;
  readonly highest: number;
  readonly epoch: number;
}

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
  const run = (keys: readonly string[], args: readonly string[], timeoutMs: number): Promise<readonly unknown[]> =>
    callFloorScript(connection, keys, args, timeoutMs);

  /** Raises the counters of some slots: in one call, unless the server takes only keys of one slot. */
  const raisePortion = async (from: number, to: number, request: FloorRequest): Promise<readonly Counters[]> => {
    const args = ["raise", String(request.floor), String(request.epoch)];
    const raiseCall = async (slot: number, end: number): Promise<Counters> => {
      const keys = Array.from({ length: end - slot }, (_, index) => fenceKey(prefix, slot + index));
      return readCounters(await run(keys, args, request.timeoutMs), slot);
    };
    if (!connection.isCluster) return [await raiseCall(from, to)];
    const all: Counters[] = [];
    for (let slot = from; slot < to; slot += callsAtOnce) {
      const calls = Array.from({ length: Math.min(callsAtOnce, to - slot) }, (_, index) => slot + index);
      all.push(...(await Promise.all(calls.map((each) => raiseCall(each, each + 1)))));
    }
    return all;
  };

  /** Rejects if a server has restarted since its first call: it may have forgotten the counters raised before. */
  const assertNoRestart = async (all: readonly Counters[], timeoutMs: number): Promise<void> => {
    const firstSlots = new Map<string, number>();
    for (const { runId, slot } of all) if (!firstSlots.has(runId)) firstSlots.set(runId, slot);
    for (const [runId, slot] of firstSlots) {
      const [now] = await raisePortion(slot, slot + 1, { floor: 0, epoch: 0, timeoutMs });
      if (now?.runId !== runId) throw new Error("the server has restarted, so the floor must be raised again");
    }
  };

  /**
   * Finds the resources that may be claimed: of some slots on a cluster, otherwise a portion of all. Returns them with
   * the next position, or undefined at the end.
   */
  const find = async (
    position: string,
    runId: string,
    timeoutMs: number,
  ): Promise<{ resources: string[]; next: string | undefined }> => {
    const pattern = `${escapeGlob(prefix)}*`;
    if (!connection.isCluster) {
      const reply = await run([], ["find", position, runId, prefix, pattern, ""], timeoutMs);
      const [, next, ...resources] = reply.map(textOf);
      if (next === undefined || resources.includes(undefined)) throw nonsense("scan", reply);
      return { resources: resources as string[], next: next === "0" ? undefined : next };
    }
    const from = Number(position);
    const slots = Array.from({ length: Math.min(callsAtOnce, slotCount - from) }, (_, index) => from + index);
    const replies = slots.map((slot) =>
      run([`{${tagOfSlot(slot)}}`], ["find", "0", "", prefix, pattern, String(slot)], timeoutMs),
    );
    const resources = (await Promise.all(replies)).flatMap((reply) => reply.slice(2).map(textOf) as string[]);
    const next = from + slots.length;
    return { resources, next: next === slotCount ? undefined : String(next) };
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
      const all: Counters[] = [];
      for (let slot = 0; slot < slotCount; slot += countersInCall) {
        const portion = await raisePortion(slot, slot + countersInCall, request);
        all.push(...portion);
        // Reading ends here: there is neither a floor nor an epoch.
        if (!isRaise(request) && portion.some(({ lowest, epoch }) => lowest === 0 && epoch === 0)) break;
      }
      await assertNoRestart(all, request.timeoutMs);
      return { floor: lowestOf(all.map(({ lowest }) => lowest)), epoch: lowestOf(all.map(({ epoch }) => epoch)) };
    },

    async scan({ cursor, claims: wantsClaims = true, timeoutMs }): Promise<ScanPortion> {
      const { kind, position, runId } = readCursor(cursor, connection.isCluster);
      if (kind === "keys") {
        const { resources, next } = await find(position, runId, timeoutMs);
        const claims = (await within(timeoutMs, Promise.all(resources.map(claimsOn)), timedOut)).flat();
        const rest = next === undefined ? undefined : cursorOf("keys", next, runId);
        return { counters: 0, highest: 0, claims, ...(rest !== undefined && { cursor: rest }) };
      }
      const slot = Number(position);
      const next = slot + countersInCall;
      const all = await raisePortion(slot, Math.min(next, slotCount), { floor: 0, epoch: 0, timeoutMs });
      const presentRunId = connection.isCluster ? "" : (all[0] as Counters).runId;
      if (runId !== "" && presentRunId !== runId)
        throw new Error("ERR the server has restarted, so the scan must begin again");
      const isLast = next >= slotCount;
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

function isRaise({ floor, epoch }: FloorRequest): boolean {
  return floor > 0 || epoch > 0;
}

type CursorKind = "counters" | "keys";

/** Returns a cursor: a slot, or where a search for keys is; and the run of the server, unless it is a cluster. */
function cursorOf(kind: CursorKind, position: string, runId: string): string {
  return runId === "" ? `${kind} ${position}` : `${kind} ${position}@${runId}`;
}

/** Reads a cursor. Throws if no node of this kind makes it: it would skip keys, or never end. */
function readCursor(
  cursor: string | undefined,
  isCluster: boolean,
): { readonly kind: CursorKind; readonly position: string; readonly runId: string } {
  if (cursor === undefined) return { kind: "counters", position: "0", runId: "" };
  const [, kind, position = "", runId = ""] = /^(counters|keys) (\d{1,20})(?:@([0-9a-f]{40}))?$/.exec(cursor) ?? [];
  const isSlot = isCluster || kind === "counters";
  if (kind === undefined || (runId === "") !== isCluster || (isSlot && Number(position) >= slotCount)) {
    throw new RangeError("cursor must be one that a portion of this node had");
  }
  return { kind: kind as CursorKind, position, runId };
}

function lowestOf(numbers: readonly number[]): number {
  return numbers.reduce((lowest, number) => Math.min(lowest, number));
}

function timedOut(): Error {
  return new Error("timed out before the server replied");
}

/** Calls the script, and returns its reply without the call id. */
async function callFloorScript(
  connection: RedisConnection,
  keys: readonly string[],
  args: readonly string[],
  timeoutMs: number,
): Promise<readonly unknown[]> {
  const [firstKey = ""] = keys;
  if (!connection.isReady(firstKey)) throw notConnected(connection, firstKey);
  const callId = newCallId();
  const words = [...keys, String(callId), ...args];
  const call: ScriptCall = {
    firstKey,
    keyCount: keys.length,
    keysAndArguments: () => [...words],
    encode: (command, script) => encodeCommand(command, script, keys.length, words),
  };
  try {
    return await callScript(floorScript, callId, timeoutMs, timedOut, (command, script, leftMs) =>
      connection.runScript(command, script, call, leftMs),
    );
  } catch (error) {
    throw new Error(messageOf(error)); // a client's own error carries the whole command
  }
}

function readCounters(reply: readonly unknown[], slot: number): Counters {
  const runId = textOf(reply[0]);
  const [count, lowest, highest, epoch] = reply.slice(1).map(integerOf);
  const isComplete = runId !== undefined && reply.length === 5;
  if (!isComplete || !isCount(count) || !isCount(lowest) || !isCount(highest) || !isCount(epoch)) {
    throw nonsense("raiseFloor", reply);
  }
  return { slot, runId, count, lowest, highest, epoch };
}

/** Returns a glob that matches exactly this text. */
function escapeGlob(text: string): string {
  return text.replaceAll(/[\\*?[\]]/g, "\\$&");
}
