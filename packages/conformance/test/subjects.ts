import type { LockNode } from "@holdfast/core";
import { type MemoryNode, memoryNode } from "@holdfast/memory";
import { VirtualClock } from "@holdfast/testkit";
import type { LockNodeSubject } from "../src/index.ts";

/** The reason why subjects in this process have no server. */
export const inThisProcess = "it lives in this process";

/** The reason why subjects whose server lives in this process have no rival in another one. */
export const noOtherProcess = "its store lives in this process";

/** Returns a memory node with its own virtual clock, and the control of that clock. */
export function nodeOnVirtualClock(counters?: number): {
  node: MemoryNode;
  time: Pick<LockNodeSubject, "advance" | "nowMs">;
} {
  const clock = new VirtualClock();
  return { node: memoryNode({ clock, counters }), time: { advance: (ms) => clock.advance(ms), nowMs: clock.wallMs } };
}

/** A `close` with nothing to close. */
export async function nothing(): Promise<void> {}

/**
 * A memory node that simulates a server: it can be unreachable, and a client has a second connection while it watches.
 */
export async function remoteSubject(
  makeFrom = (node: MemoryNode): LockNode => node,
  counters?: number,
): Promise<LockNodeSubject> {
  const { node: complete, time } = nodeOnVirtualClock(counters);
  const server = makeFrom(complete);
  let isGone = false;
  let watches = 0;
  const call = async <T>(send: () => Promise<T>): Promise<T> => {
    if (isGone) throw new Error("connection refused");
    return send();
  };
  const client = (): LockNode => {
    const { watch, inspect, raiseFloor, scan } = server;
    return {
      name: server.name,
      acquire: (request) => call(() => server.acquire(request)),
      extend: (request) => call(() => server.extend(request)),
      release: (request) => call(() => server.release(request)),
      ...(inspect && { inspect: (resource) => call(() => inspect(resource)) }),
      ...(raiseFloor && { raiseFloor: (request) => call(() => raiseFloor(request)) }),
      ...(scan && { scan: (request) => call(() => scan(request)) }),
      ...(watch && {
        watch: (resources, onReleased) =>
          call(async () => {
            const unwatch = await watch(resources, onReleased);
            watches++;
            let isOpen = true;
            return async () => {
              if (isOpen) watches--;
              isOpen = false;
              await unwatch();
            };
          }),
      }),
    };
  };
  return {
    node: client(),
    rival: client(),
    ...time,
    close: nothing,
    server: {
      stop: async () => {
        isGone = true;
      },
      start: async () => {
        isGone = false;
      },
      connections: () => 2 + watches,
    },
  };
}
