import type { FenceFloor, Floor, ScannedClaim, ScanPortion } from "@holdfast/core";
import { assertFloor } from "@holdfast/core/requests";
import { newCallId } from "../call-id.ts";
import type { RedisConnection, ScriptCall } from "../connection.ts";
import { within } from "../deadline.ts";
import { encodeCommand } from "../encoding.ts";
import { floorKey } from "../keys.ts";
import { messageOf } from "../message-of.ts";
import { notConnected } from "../not-connected.ts";
import { integerOf, nonsense, textOf } from "../replies.ts";
import { floorScriptSha, floorScriptSource } from "./floor-script.ts";

/**
 * Returns the methods of a node with which operators replace servers. They do not share the calls of locks: a tool uses
 * them a few hundred times, and a request that arrives late does no harm.
 *
 * @param connection sends the script; not to a cluster
 * @param prefix the prefix of the lock keys
 */
export function floorCalls(connection: RedisConnection, prefix: string): Required<FenceFloor> {
  const key = floorKey(prefix);
  const pattern = `holdfast:fence:{*${escapeGlob(prefix)}*`;

  const run = async (action: string, args: readonly string[], timeoutMs: number): Promise<readonly unknown[]> => {
    if (!connection.isReady(key)) throw notConnected(connection.whyNotReady?.(key));
    const callId = newCallId();
    const call = callOf(key, [action, String(callId), ...args]);
    const late = (): Error => new Error("timed out before the server replied");
    let reply: unknown;
    try {
      reply = await within(timeoutMs, runScript(connection, call, timeoutMs), late);
    } catch (error) {
      throw new Error(messageOf(error)); // a client's own error carries the whole command
    }
    if (!Array.isArray(reply) || integerOf(reply[0]) !== callId) {
      throw new Error("the client returned the reply to another command");
    }
    return reply.slice(1);
  };

  return {
    async raiseFloor(request) {
      assertFloor(request);
      const answer = await run("raise", [String(request.floor), String(request.epoch)], request.timeoutMs);
      return readFloor(answer);
    },
    async scan({ cursor, timeoutMs }) {
      const [position, runId] = cursor === undefined ? ["0", ""] : partsOf(cursor);
      return readPortion(await run("scan", [position, runId, prefix, pattern], timeoutMs));
    },
  };
}

function callOf(key: string, args: readonly string[]): ScriptCall {
  return {
    firstKey: key,
    keyCount: 1,
    keysAndArguments: () => [key, ...args],
    encode: (command, script) => encodeCommand([command, script, "1", key, ...args]),
  };
}

/** Runs the script by its digest, or by its source if the server does not have it yet. */
async function runScript(connection: RedisConnection, call: ScriptCall, timeoutMs: number): Promise<unknown> {
  const endMs = performance.now() + timeoutMs;
  try {
    return await connection.runScript("EVALSHA", floorScriptSha, call, timeoutMs);
  } catch (error) {
    const leftMs = endMs - performance.now();
    if (!messageOf(error).startsWith("NOSCRIPT") || leftMs <= 0) throw error;
    return await connection.runScript("EVAL", floorScriptSource, call, leftMs);
  }
}

function readFloor(answer: readonly unknown[]): Floor {
  const [floor, epoch] = answer.map(integerOf);
  if (answer.length !== 2 || !isCount(floor) || !isCount(epoch)) throw nonsense("raiseFloor", answer);
  return { floor, epoch };
}

/** Returns the server's cursor in one of ours, and the run id, because each run has its own order of keys. */
function partsOf(cursor: string): [position: string, runId: string] {
  const [, position, runId] = /^([1-9]\d{0,19})@([0-9a-f]{40})$/.exec(cursor) ?? [];
  if (position !== undefined && runId !== undefined) return [position, runId];
  throw new RangeError("cursor must be one that a portion of this node had");
}

/** Reads a portion. */
function readPortion(answer: readonly unknown[]): ScanPortion {
  const position = textOf(answer[0]);
  const runId = textOf(answer[1]);
  const counters = integerOf(answer[2]);
  const highest = integerOf(answer[3]);
  const claims = claimsIn(answer.slice(4));
  if (!position || !runId || !isCount(counters) || !isCount(highest) || claims === undefined) {
    throw nonsense("scan", answer);
  }
  return { counters, highest, claims, ...(position !== "0" && { cursor: `${position}@${runId}` }) };
}

/** Reads resources, owners and remaining times in turn. Returns undefined if there is anything else. */
function claimsIn(fields: readonly unknown[]): readonly ScannedClaim[] | undefined {
  const claims: ScannedClaim[] = [];
  for (let index = 0; index < fields.length; index += 3) {
    const resource = textOf(fields[index]);
    const owner = textOf(fields[index + 1]);
    const leftMs = integerOf(fields[index + 2]);
    if (resource === undefined || owner === undefined || leftMs === undefined) return undefined;
    claims.push({ resource, owner, remainingMs: leftMs < 0 ? Infinity : leftMs });
  }
  return claims;
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && value >= 0;
}

/** Returns a glob that matches exactly this text. */
function escapeGlob(text: string): string {
  return text.replaceAll(/[\\*?[\]]/g, "\\$&");
}
