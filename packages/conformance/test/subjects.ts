import type { LockNode } from "@holdfast/core";
import { type MemoryNode, memoryNode } from "@holdfast/memory";
import { VirtualClock } from "@holdfast/testkit";
import type { LockNodeSubject } from "../src/index.ts";

/** Why subjects in this process have no server. */
export const inThisProcess = "it lives in this process";

/** A memory node on a clock of its own, and that clock's handle. */
export function nodeOnVirtualClock(): { node: MemoryNode; time: Pick<LockNodeSubject, "advance" | "nowMs"> } {
  const clock = new VirtualClock();
  return { node: memoryNode({ clock }), time: { advance: (ms) => clock.advance(ms), nowMs: clock.wallMs } };
}

/** For `close` where there is nothing to close. */
export async function nothing(): Promise<void> {}

/** A memory node that plays a server: it can be out of reach, and a client has a second connection while it watches. */
export async function remoteSubject(makeFrom = (node: MemoryNode): LockNode => node): Promise<LockNodeSubject> {
  const { node: complete, time } = nodeOnVirtualClock();
  const server = makeFrom(complete);
  let isGone = false;
  let watches = 0;
  const call = async <T>(send: () => Promise<T>): Promise<T> => {
    if (isGone) throw new Error("connection refused");
    return send();
  };
  const client = (): LockNode => {
    const { watch, inspect } = server;
    return {
      name: server.name,
      acquire: (request) => call(() => server.acquire(request)),
      extend: (request) => call(() => server.extend(request)),
      release: (request) => call(() => server.release(request)),
      ...(inspect && { inspect: (resource) => call(() => inspect(resource)) }),
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
