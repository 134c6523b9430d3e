import {
  type AcquireRequest,
  ConfigurationError,
  type ExtendRequest,
  type NodeRequest,
  type ReleaseRequest,
} from "@holdfast/core";
import { channelPrefix, fenceKey, type KeyNames } from "./keys.ts";
import type { Settings } from "./options.ts";

/** One run of the script: its keys, and the arguments that follow the verb and the ticket. */
export interface ScriptCall {
  readonly keys: readonly string[];
  readonly rest: readonly string[];
}

/** Puts the operations of one node into the words of the script. */
export interface Calls {
  acquire(request: AcquireRequest): ScriptCall;
  extend(request: ExtendRequest): ScriptCall;
  release(request: ReleaseRequest): ScriptCall;
  inspect(resource: string): ScriptCall;
  introduce(request: NodeRequest): ScriptCall;
}

/** Makes the calls of one node. They throw a ConfigurationError for what the node cannot be asked. */
export function scriptCalls(settings: Settings, { lockKeys }: KeyNames): Calls {
  const { fenceTtlMs, wakeUps, restartGuardMs } = settings;
  const announcement = wakeUps ? [channelPrefix] : [];
  const guardMs = String(restartGuardMs);
  const lockAndFenceKeys = (resources: readonly string[]): string[] => {
    const keys = lockKeys(resources);
    return [...keys, ...keys.map(fenceKey)];
  };
  const times = ({ ttlMs, resources }: AcquireRequest | ExtendRequest): [ttlMs: string, keepMs: string] => {
    if (restartGuardMs > 0 && ttlMs > restartGuardMs) {
      const rule = `ttlMs must not be longer than the restartGuardMs of the node, ${restartGuardMs}`;
      throw new ConfigurationError(`${rule}, not ${ttlMs}`, resources);
    }
    return [String(ttlMs), fenceTtlMs === Infinity ? "0" : String(ttlMs + fenceTtlMs)];
  };
  return {
    acquire(request) {
      const { resources, owner, fenceHint, takeover } = request;
      const rest = [owner, ...times(request), String(fenceHint), guardMs];
      if (takeover !== undefined) rest.push(takeover);
      return { keys: lockAndFenceKeys(resources), rest };
    },
    extend(request) {
      const { resources, owner, fence, rejoin } = request;
      const rest = [owner, ...times(request), String(fence), rejoin ? "1" : "0", guardMs];
      return { keys: lockAndFenceKeys(resources), rest };
    },
    release: ({ resources, owner }) => ({ keys: lockKeys(resources), rest: [owner, ...announcement] }),
    inspect: (resource) => ({ keys: lockAndFenceKeys([resource]), rest: ["", guardMs] }),
    introduce: ({ resources }) => ({ keys: lockKeys(resources), rest: [] }),
  };
}
