/**
 * `pnpm --filter @holdfast/redis bench`: what releasing and extending cost by the script, and by the native commands of
 * newer servers that compare before they delete or set, on one server in one run.
 *
 * The candidates take turns, a few hundred operations at a time, so that whatever else the machine does meets all of
 * them. Each ratio is that of two neighbouring turns; the table has its median, and quartiles.
 */
import { startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { fetchServer, packagedServers } from "../../../scripts/matrix/servers.ts";
import { channelPrefix, fenceKey, waitingListKey } from "../src/keys.ts";
import { lockScriptSha, lockScriptSource } from "../src/lock-script.ts";

const turns = 41;
const operationsPerTurn = 400;
const owner = "0123456789abcdef0123456789abcdef";
const ttlMs = "600000";
const keepMs = "87000000";
const callId = "123456789";
const keys = Array.from({ length: operationsPerTurn }, (_, i) => `lock:invoice:${i}`);

/** One way to do something to a claim. */
interface Candidate {
  readonly name: string;
  /** The commands as the server's statistics name them. */
  readonly commands: readonly string[];
  run(client: Redis, key: string): Promise<unknown>;
}

/** The script's way, and the native one that might replace it, or a part of it. */
interface Duel {
  readonly title: string;
  /** Whether the owner holds the keys before. */
  readonly isHeld: boolean;
  readonly script: Candidate;
  readonly native: Candidate;
}

/** Microseconds for one operation. */
interface Cost {
  readonly server: number;
  readonly oneByOne: number;
  readonly pipelined: number;
}

function duels(compareAndDelete: (key: string) => [string, ...string[]]): Duel[] {
  const [command] = compareAndDelete("");
  const header = [callId, ".", "0"];
  const release = (key: string, ...record: string[]) => [
    lockScriptSha,
    2,
    key,
    waitingListKey(key),
    ...header,
    ...record,
  ];
  const claim = (key: string, ...record: string[]) => [lockScriptSha, 2, key, fenceKey(key), ...header, ...record];
  return [
    {
      title: "release with a wake-up",
      isHeld: true,
      script: script((key) => release(key, "release-one", owner)),
      native: {
        name: `${command}, then PUBLISH`,
        commands: [command, "publish"],
        async run(client, key) {
          if ((await client.call(...compareAndDelete(key))) === 1) await client.publish(channelPrefix + key, "");
        },
      },
    },
    {
      title: "release without one",
      isHeld: true,
      script: script((key) => [lockScriptSha, 1, key, ...header, "release", "1", owner, "0", ""]),
      native: { name: command, commands: [command], run: (client, key) => client.call(...compareAndDelete(key)) },
    },
    {
      title: "extend",
      isHeld: true,
      script: script((key) => claim(key, "extend", "1", owner, "7", ttlMs, keepMs, "0")),
      native: {
        name: "SET IFEQ, without the counter",
        commands: ["set"],
        run: (client, key) => client.call("SET", key, owner, "IFEQ", owner, "PX", ttlMs),
      },
    },
    {
      title: "acquire",
      isHeld: false,
      script: script((key) => claim(key, "acquire-one", owner, "7", ttlMs, keepMs)),
      native: {
        name: "SET NX, without the counter",
        commands: ["set"],
        run: (client, key) => client.set(key, owner, "PX", ttlMs, "NX"),
      },
    },
  ];
}

function script(words: (key: string) => (string | number)[]): Candidate {
  return { name: "script", commands: ["evalsha"], run: (client, key) => client.call("EVALSHA", words(key)) };
}

async function measure(client: Redis, isHeld: boolean, { commands, run }: Candidate): Promise<Cost> {
  await prepare(client, isHeld);
  await client.config("RESETSTAT");
  const oneByOne = await timed(async () => {
    for (const key of keys) await run(client, key);
  });
  const stats = await client.info("commandstats");
  const usec = commands.map((command) => Number(new RegExp(`cmdstat_${command}:.*?usec=(\\d+)`, "i").exec(stats)?.[1]));
  await prepare(client, isHeld);
  const pipelined = await timed(() => Promise.all(keys.map((key) => run(client, key))));
  return { server: usec.reduce((sum, each) => sum + each, 0) / keys.length, oneByOne, pipelined };
}

async function prepare(client: Redis, isHeld: boolean): Promise<void> {
  const pipeline = client.pipeline();
  for (const key of keys) {
    pipeline.set(fenceKey(key), "7", "PX", keepMs);
    if (isHeld) pipeline.set(key, owner, "PX", ttlMs);
    else pipeline.del(key);
  }
  await pipeline.exec();
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return ((performance.now() - startMs) * 1_000) / keys.length;
}

async function compare(client: Redis, { isHeld, script, native }: Duel): Promise<Record<keyof Cost, string>> {
  const pairs: { script: Cost; native: Cost }[] = [];
  for (let turn = 0; turn < turns; turn++) {
    // Whoever is second finds warmer caches.
    const order = turn % 2 === 0 ? [script, native] : [native, script];
    const costs = new Map<Candidate, Cost>();
    for (const candidate of order) costs.set(candidate, await measure(client, isHeld, candidate));
    pairs.push({ script: costs.get(script) as Cost, native: costs.get(native) as Cost });
  }
  const describe = (cost: keyof Cost): string => {
    const of = (value: (pair: (typeof pairs)[number]) => number) => quartiles(pairs.map(value));
    const [low, middle, high] = of((pair) => pair.native[cost] / pair.script[cost]).map((ratio) => ratio.toFixed(2));
    const [, scriptUs] = of((pair) => pair.script[cost]);
    const [, nativeUs] = of((pair) => pair.native[cost]);
    return `${scriptUs?.toFixed(1)} → ${nativeUs?.toFixed(1)} µs, × ${middle} (${low}–${high})`;
  };
  return { server: describe("server"), oneByOne: describe("oneByOne"), pipelined: describe("pipelined") };
}

function quartiles(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  return [0.25, 0.5, 0.75].map((part) => sorted[Math.floor(part * (sorted.length - 1))] as number);
}

async function compareOn(serverName: string, all: readonly Duel[]): Promise<void> {
  const packaged = packagedServers.find(({ name }) => name === serverName);
  if (packaged === undefined) throw new Error(`${serverName} is none of the packaged servers`);
  const server = await startRedisServer({ binary: await fetchServer(packaged) });
  const client = new Redis({ host: "127.0.0.1", port: server.port });
  try {
    await client.script("LOAD", lockScriptSource);
    for (const duel of all) {
      const { server: cost, oneByOne, pipelined } = await compare(client, duel);
      console.log(`| ${serverName} | ${duel.title} | ${duel.native.name} | ${cost} | ${oneByOne} | ${pipelined} |`);
    }
  } finally {
    client.disconnect();
    await server.stop();
  }
}

console.log("| server | operation | instead of the script | server's time | one by one | pipelined |");
console.log("| --- | --- | --- | --- | --- | --- |");
await compareOn(
  "redis-8.6",
  duels((key) => ["DELEX", key, "IFEQ", owner]),
);
await compareOn(
  "valkey-9.1",
  duels((key) => ["DELIFEQ", key, owner]),
);
