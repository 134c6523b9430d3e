import { type Address, connectIoredis } from "@holdfast/app-kit/clients";
import { startServer } from "@holdfast/app-kit/servers";
import type { RedisServer } from "@holdfast/testkit";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { Redis } from "ioredis";
import { startNetwork } from "./network.ts";

/** Where a contender keeps its locks. */
export interface Place {
  /** See {@link Connect}. */
  readonly addresses: readonly Address[];
  /** Turns the delay of its network on or off. Resolves with the time that a `PING` then takes. */
  delay?(isOn: boolean): Promise<number>;
  /**
   * Starts to watch its servers. The returned function resolves with what all of them have used since: microseconds of
   * processor time, NaN without a server; and bytes received and sent, without those of the benchmark itself.
   */
  watch(): Promise<() => Promise<{ readonly cpuUs: number; readonly bytes: number }>>;
}

/** Redis servers, started on first use. */
export type Servers = ReturnType<typeof createServers>;

interface Server {
  readonly server: RedisServer;
  /** A connection of the benchmark. */
  readonly redis: Redis;
}

/**
 * Makes an empty set of servers.
 *
 * @param cleanup stops all servers
 */
export function createServers(cleanup: Cleanup) {
  const all: Server[] = [];
  const first = async (count: number): Promise<readonly Server[]> => {
    while (all.length < count) all.push(await start(cleanup));
    return all.slice(0, count);
  };
  let network: ReturnType<typeof startNetwork> | undefined;
  return {
    /** Returns the first `count` servers, with a round trip through a process that delays all bytes. */
    async at(count: number, roundTripMs?: number): Promise<Place> {
      const servers = await first(count);
      const ports = servers.map(({ server }) => server.port);
      const place = { addresses: ports, watch: () => watch(servers) };
      if (roundTripMs === undefined) return place;
      network ??= startNetwork(cleanup);
      const { portsTo, setRoundTrip } = await network;
      return {
        ...place,
        addresses: await portsTo(ports),
        delay: (isOn) => setRoundTrip(ports, isOn ? roundTripMs : 0),
      };
    },
    /** Deletes all keys. */
    async empty(): Promise<void> {
      await Promise.all(all.map(({ redis }) => redis.flushall()));
    },
  };
}

async function start(cleanup: Cleanup): Promise<Server> {
  const server = await startServer(cleanup);
  const [redis] = await connectIoredis([server.port]);
  cleanup.defer(() => redis?.disconnect());
  return { server, redis: redis as Redis };
}

async function watch(servers: readonly Server[]) {
  const before = await Promise.all(servers.map(readUsage));
  return async () => {
    const after = await Promise.all(servers.map(readUsage));
    let [cpuUs, bytes] = [0, 0];
    for (const [index, now] of after.entries()) {
      const then = before[index] as (typeof before)[number];
      cpuUs += now.cpuUs - then.cpuUs;
      // The reply to the first reading and the question of the second one lie between the two.
      bytes += now.bytes - then.bytes - then.ownBytes - question.length;
    }
    return { cpuUs, bytes };
  };
}

const question = "*3\r\n$4\r\nINFO\r\n$5\r\nstats\r\n$3\r\ncpu\r\n";

/** Reads a report of a server, and its length. */
async function readUsage({ redis }: Server) {
  const text = String(await redis.call("INFO", "stats", "cpu"));
  const numberOf = (name: string): number => Number(new RegExp(`^${name}:(.*)\r$`, "m").exec(text)?.[1]);
  return {
    cpuUs: (numberOf("used_cpu_user") + numberOf("used_cpu_sys")) * 1e6,
    bytes: numberOf("total_net_input_bytes") + numberOf("total_net_output_bytes"),
    // A verbatim string of RESP3, which ioredis speaks.
    ownBytes: `=${text.length + 4}\r\ntxt:${text}\r\n`.length,
  };
}
