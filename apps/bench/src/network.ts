import { connectIoredis } from "@holdfast/app-kit/clients";
import { startWorkerProcess } from "@holdfast/app-kit/worker-process";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { Redis } from "ioredis";
import { atQuorum } from "./contenders/vote.ts";
import { type Quartiles, quartilesOf } from "./measure/statistics.ts";
import type { NetworkFunctions } from "./process/network.ts";

interface Link {
  readonly port: number;
  readonly redis: Redis;
}

const callTimeoutMs = 20_000;
const trials = 5;
const tolerance = 0.04;
const pings = 20;

/** Starts a process that delays all bytes on their way to these servers. */
export async function startNetwork(cleanup: Cleanup) {
  const program = await bundleProgram(new URL("process/network.ts", import.meta.url));
  const worker = startWorkerProcess<NetworkFunctions>(program, { name: "the network" });
  cleanup.defer(worker.stop);
  const links = new Map<number, Promise<Link>>();
  const delaysMs = new Map<string, number>();
  const setDelay = (delayMs: number) => worker.call("setDelay", callTimeoutMs, delayMs);
  const open = async (target: number): Promise<Link> => {
    const port = await worker.call("open", callTimeoutMs, target);
    const [redis] = await connectIoredis([port]);
    cleanup.defer(() => redis?.disconnect());
    return { port, redis: redis as Redis };
  };
  const linksTo = (targets: readonly number[]): Promise<readonly Link[]> => {
    for (const target of targets) if (!links.has(target)) links.set(target, open(target));
    return Promise.all(targets.map((target) => links.get(target) as Promise<Link>));
  };
  return {
    /** Returns a port for each server. */
    portsTo: async (targets: readonly number[]) => (await linksTo(targets)).map(({ port }) => port),
    /**
     * Sets the delay of all bytes, so that a `PING` to these servers takes the round trip until a majority has replied. 0 is
     * no delay. Tries several delays, and resolves with the time of a `PING` with the last one: the median of some.
     */
    async setRoundTrip(targets: readonly number[], roundTripMs: number): Promise<number> {
      const to = await linksTo(targets);
      const key = [roundTripMs, ...targets].join(" ");
      let delayMs = delaysMs.get(key) ?? roundTripMs / 2;
      await setDelay(delayMs);
      let took = await pingTimes(to);
      // The lower quartile, because other load makes some of them longer.
      const isOff = (): boolean => roundTripMs > 0 && Math.abs(took.low - roundTripMs) > tolerance * roundTripMs;
      for (let left = trials; left > 0 && isOff(); left--) {
        delayMs = Math.max(0, delayMs + (roundTripMs - took.low) / 2);
        await setDelay(delayMs);
        took = await pingTimes(to);
      }
      delaysMs.set(key, delayMs);
      return took.median;
    },
  };
}

async function pingTimes(links: readonly Link[]): Promise<Quartiles> {
  const tookMs: number[] = [];
  while (tookMs.length < pings) {
    const startMs = performance.now();
    await atQuorum(links, ({ redis }) => redis.ping());
    tookMs.push(performance.now() - startMs);
  }
  return quartilesOf(tookMs);
}
