/** Starts servers with all kinds of problems, which stop at the end of the test. */

import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import { ioredisNode } from "@holdfast/ioredis";
import { lockNames } from "@holdfast/redis";
import { eventually } from "@holdfast/redis-testkit/timing";
import { freePort, type RedisServer, reapedDirectory, startRedisServer, startTamperingProxy } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { expect, onTestFinished } from "vitest";
import { type CollectOptions, examine } from "../../src/doctor/collect.ts";
import type { Level } from "../../src/doctor/finding-kind.ts";
import type { Report } from "../../src/doctor/judge.ts";
import type { ServerOptions } from "../../src/options/server-options.ts";
import { closeServers, openServers, parseServerAddress } from "../../src/servers/servers.ts";

const password = "secret";

/** The arguments of a server for the highest level. Later arguments override them. */
const healthyArgs = ["--appendonly", "yes", "--appendfsync", "always", "--requirepass", password];
/** Makes a master send its data at once, instead of waiting seconds for more replicas. */
const promptly = ["--repl-diskless-sync-delay", "0"];

/** Starts a healthy server, with these additional arguments. */
export async function startServer(args: readonly string[] = []): Promise<RedisServer> {
  const server = await startRedisServer({ args: [...healthyArgs, ...promptly, ...args] });
  onTestFinished(() => server.stop());
  return server;
}

/** Returns the address of a port with the password. */
export function urlOf({ port }: { readonly port: number }): string {
  return `redis://:${password}@127.0.0.1:${port}`;
}

/** Starts a server with a floor and an epoch, and fence counters of this many resources, and returns its address. */
export async function startUrlWith(kept: { floor?: number; epoch?: number; counters?: number }): Promise<string> {
  const url = await startUrl();
  const client = new Redis(url);
  try {
    await client.ping(); // the node refuses requests while the client connects
    const { floor = 0, epoch = 0, counters = 0 } = kept;
    const node = ioredisNode(client, { wakeUps: false });
    await node.raiseFloor?.({ floor, epoch, timeoutMs: 10_000 });
    for (let index = 0; index < counters; index++) {
      await client.set(lockNames("lock:", `job-${index}`).fence, index + 1);
    }
    await node.close();
    return url;
  } finally {
    client.disconnect();
  }
}

/** Starts a server, and returns its address. */
export async function startUrl(args?: readonly string[]): Promise<string> {
  return urlOf(await startServer(args));
}

/** Starts a server with a user that has these permissions, and returns the address for that user. */
export async function startUrlForUser(permissions: readonly string[]): Promise<string> {
  const { port } = await startServer(["--user", "holdfast", "on", `>${password}`, ...permissions]);
  return `redis://holdfast:${password}@127.0.0.1:${port}`;
}

/** Returns the address of a port on which nothing listens. */
export async function refusingUrl(): Promise<string> {
  return `redis://127.0.0.1:${await freePort()}`;
}

/** Sends one command. */
export async function send(
  url: string,
  ...[command, ...args]: readonly [string, ...(string | number)[]]
): Promise<unknown> {
  const client = new Redis(url);
  try {
    return await client.call(command, ...args);
  } finally {
    client.disconnect();
  }
}

/** Starts a replica of a server, and waits until both report the link. */
export async function startReplica(master: RedisServer): Promise<RedisServer> {
  const replica = await startServer(["--replicaof", "127.0.0.1", String(master.port), "--masterauth", password]);
  await expect.poll(() => send(urlOf(replica), "INFO", "replication")).toContain("master_link_status:up");
  await expect.poll(() => send(urlOf(master), "INFO", "replication")).toContain("connected_slaves:1");
  return replica;
}

/** Starts a sentinel that monitors a server. */
export async function startSentinel(master: RedisServer): Promise<void> {
  const directory = await reapedDirectory();
  const file = join(directory, "sentinel.conf");
  const lines = [
    ...[`port ${await freePort()}`, "bind 127.0.0.1", `dir ${directory}`, `pidfile ${join(directory, "pid")}`],
    ...[`sentinel monitor lock 127.0.0.1 ${master.port} 1`, `sentinel auth-pass lock ${password}`],
  ];
  await writeFile(file, lines.join("\n"));
  const sentinel = spawn(process.env.HOLDFAST_REDIS_SERVER ?? "redis-server", [file, "--sentinel"], {
    stdio: "ignore",
  });
  onTestFinished(() => void sentinel.kill("SIGKILL"));
  await expect
    .poll(() => send(urlOf(master), "PUBSUB", "NUMSUB", "__sentinel__:hello"))
    .toEqual(["__sentinel__:hello", 1]);
}

/** Starts a server behind a connection with this delay in each direction. */
export async function startFarUrl(delayMs: number): Promise<string> {
  const proxy = await startTcpProxy({ port: (await startServer()).port });
  onTestFinished(() => proxy.close());
  proxy.delay(delayMs);
  return urlOf(proxy);
}

/** Starts a server behind a proxy that changes its replies. */
async function startUrlBehindProxy(
  change: (reply: string) => string,
  server: Pick<RedisServer, "port"> | undefined = undefined,
): Promise<string> {
  const proxy = await startTamperingProxy((server ?? (await startServer())).port);
  onTestFinished(() => proxy.stop());
  proxy.tamper = (data) => ({ data: Buffer.from(change(data.toString("latin1")), "latin1") });
  return urlOf(proxy);
}

/** Starts a server behind a proxy that changes the first digit of its version. */
export function startUrlOfVersion(major: number): Promise<string> {
  return startUrlBehindProxy((reply) =>
    reply.replace(/(redis_version:)\d/, `$1${major}`).replace("valkey_version:", "former_version:"),
  );
}

/** Starts a server that takes only keys of one slot in a call, behind a proxy that conceals why. */
export async function startUrlOfShards(): Promise<string> {
  const server = await startServer(["--cluster-enabled", "yes"]);
  await send(urlOf(server), "CLUSTER", "ADDSLOTSRANGE", 0, 16_383);
  await eventually(async () => expect(await send(urlOf(server), "CLUSTER", "INFO")).toContain("cluster_state:ok"));
  return startUrlBehindProxy((reply) => reply.replace("cluster_enabled:1", "cluster_enabled:0"), server);
}

/** Starts a server behind a proxy that sets its clock ahead. */
export function startUrlAhead(ms: number): Promise<string> {
  return startUrlBehindProxy((reply) =>
    reply.replace(/^\*2\r\n\$10\r\n(\d{10})\r\n\$\d\r\n(\d{1,6})\r\n$/, (_, seconds, microseconds) => {
      const shiftedUs = Number(seconds) * 1e6 + Number(microseconds) + ms * 1e3;
      const words = [Math.floor(shiftedUs / 1e6), shiftedUs % 1e6].map(String);
      return `*2\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join("")}`;
    }),
  );
}

/** The options besides the servers. The ttl and the node timeout are long, for busy machines. */
export type LabOptions = Partial<Omit<ServerOptions, "nodeTimeoutMs"> & CollectOptions & { readonly required: Level }>;

/** Examines servers as the doctor does. */
export async function examineServers(nodes: readonly string[], options: LabOptions = {}): Promise<Report> {
  const complete = {
    ...{ memory: false, joint: undefined, generation: 0, tls: {}, prefix: undefined },
    ...{ ttlMs: 600_000, nodeTimeoutMs: 5_000, restartGuardMs: 0 },
    ...{ addresses: nodes.map((node) => parseServerAddress(node, "a node")), pings: 10, answerTimeoutMs: 10_000 },
    ...options,
  };
  const servers = await openServers(complete);
  try {
    return await examine(servers, complete, options.required ?? "exclusion");
  } finally {
    await closeServers(servers);
  }
}
