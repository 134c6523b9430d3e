import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createCertificate } from "./certificate.ts";
import { freePort } from "./free-port.ts";
import { startPeerProxy } from "./peer-proxy.ts";
import { reapedDirectory } from "./reaper.ts";
import { controlServer, onFreePort } from "./server-process.ts";

/** Options of {@link startEtcdServer}. */
export interface EtcdServerOptions {
  /** Whether the server also accepts TLS, with a new certificate: `"mutual"` if clients need one, too. Default: false. */
  readonly tls?: boolean | "mutual";
  /** The server's `--max-txn-ops`. Default: etcd's, 128. */
  readonly maxTxnOps?: number;
  /** Further arguments of `etcd`. */
  readonly args?: readonly string[];
}

const leaderTimeoutMs = 60_000;

/** A real etcd server on 127.0.0.1 that a test can pause, kill and restart. */
export type EtcdServer = Awaited<ReturnType<typeof newServer>>;

/** A real etcd cluster on 127.0.0.1. */
export type EtcdCluster = Awaited<ReturnType<typeof startEtcdCluster>>;

/**
 * Starts a server on free ports, with its own temporary directory, and resolves when it answers.
 *
 * @throws {Error} with installation advice if the program is missing, or with the server's log if it does not start
 */
export function startEtcdServer(options: EtcdServerOptions = {}): Promise<EtcdServer> {
  return onFreePort(async (peer) => {
    const peerArgs = [
      ...["--initial-advertise-peer-urls", `http://127.0.0.1:${peer}`],
      ...["--initial-cluster", `member-0=http://127.0.0.1:${peer}`],
    ];
    const server = await newServer(0, peer, { ...options, args: [...peerArgs, ...(options.args ?? [])] });
    try {
      await server.restart();
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  });
}

/** Starts a cluster with short elections, and resolves when it has a leader. */
export async function startEtcdCluster(size: number, options: EtcdServerOptions = {}) {
  const proxies = await Promise.all(Array.from({ length: size }, () => startPeerProxy()));
  const urls = proxies.map(({ port }) => `http://127.0.0.1:${port}`);
  const cluster = urls.map((url, index) => `member-${index}=${url}`).join();
  const servers = await Promise.all(
    proxies.map(async (proxy, index) => {
      const port = await freePort();
      proxy.leadTo(port);
      const args = [
        ...["--initial-advertise-peer-urls", urls[index] as string, "--initial-cluster", cluster],
        ...["--heartbeat-interval", "50", "--election-timeout", "500", ...(options.args ?? [])],
      ];
      return newServer(index, port, { ...options, args });
    }),
  );
  const stop = async () => {
    await Promise.all(servers.map((server) => server.stop()));
    await Promise.all(proxies.map((proxy) => proxy.close()));
  };
  const leader = (not?: number) => leaderOf(servers, not);
  try {
    await Promise.all(servers.map((server) => server.restart()));
    await leader();
  } catch (error) {
    await stop();
    throw error;
  }
  const ids = await Promise.all(servers.map(async (server) => (await statusOf(server)).id));
  return {
    servers,
    /** Resolves with the index of the leader of a majority, once there is one other than `not`. */
    leader,
    /** Cuts the network between one member and the others. Clients still reach it. */
    isolate: (index: number): void => {
      for (const [each, proxy] of proxies.entries()) proxy.block(each === index ? ["*"] : [ids[index] as string]);
    },
    /** Makes the network whole again. */
    heal: (): void => {
      for (const proxy of proxies) proxy.block([]);
    },
    /** Stops all servers. */
    stop,
  };
}

async function leaderOf(servers: readonly EtcdServer[], not?: number): Promise<number> {
  for (const endMs = performance.now() + leaderTimeoutMs; performance.now() < endMs; await sleep(20)) {
    const statuses = await Promise.all(servers.map((server) => statusOf(server).catch(() => undefined)));
    const votes = statuses.map((status) => status?.leader);
    const index = statuses.findIndex((status) => status !== undefined && status.id === status.leader);
    const followers = votes.filter((vote) => vote !== undefined && vote === statuses[index]?.id).length;
    if (index >= 0 && index !== not && followers > servers.length / 2) return index;
  }
  throw new Error(`the cluster had no leader within ${leaderTimeoutMs} ms`);
}

/** Returns the ids of a member and of its leader, in hexadecimal digits. */
async function statusOf(server: EtcdServer): Promise<{ readonly id: string; readonly leader: string }> {
  const { header, leader = "0" } = await server.api("maintenance/status");
  const hex = (id: unknown): string => BigInt(id as string).toString(16);
  return { id: hex((header as { member_id: string }).member_id), leader: hex(leader) };
}

/** Prepares a server. `restart()` starts it. */
async function newServer(index: number, peer: number, options: EtcdServerOptions) {
  const directory = await reapedDirectory();
  const [port, tlsPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const tls = options.tls ? await tlsFiles(directory, `https://127.0.0.1:${tlsPort}`) : undefined;
  const urls = tls ? `${url},${tls.url}` : url;
  const tlsArgs = tls ? ["--cert-file", tls.certPath, "--key-file", tls.keyPath] : [];
  if (options.tls === "mutual") tlsArgs.push("--client-cert-auth", "--trusted-ca-file", tls?.certPath as string);
  const args = [
    ...["--name", `member-${index}`, "--data-dir", join(directory, "data"), "--logger", "zap", "--log-level", "error"],
    ...["--bcrypt-cost", "4"], // of passwords, which tests need not protect
    ...["--listen-client-urls", urls, "--advertise-client-urls", urls],
    ...["--listen-peer-urls", `http://127.0.0.1:${peer}`],
    ...(options.maxTxnOps === undefined ? [] : ["--max-txn-ops", String(options.maxTxnOps)]),
    ...tlsArgs,
    ...(options.args ?? []),
  ];
  const server = controlServer(directory, () => ({
    command: "etcd",
    args,
    advice: "install it (Debian: apt-get install etcd-server)",
    env: { GOGC: "400" }, // its heap is small, so that collecting garbage often takes a tenth of its time
    // Only the first members of a new cluster that answer make it healthy.
    async isAnswering() {
      const health = await fetch(`${url}/health`, { signal: AbortSignal.timeout(1_000) });
      return (await health.text()).includes('"true"');
    },
  }));
  return Object.assign(server, {
    /** The port of 127.0.0.1 for clients without TLS, and its URL. */
    ...{ port, url },
    /** The TLS endpoint and its self-signed certificate, if requested. */
    tls,
    /** Calls a method of the JSON API, such as `api("lease/leases")`. Rejects with the server's message for an error. */
    api: (path: string, body: object = {}) => jsonApi(url, path, body),
    /** Returns the value of a metric, such as `etcd_debugging_mvcc_watcher_total`. */
    async metric(name: string): Promise<number> {
      const text = await (await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(5_000) })).text();
      return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "m").exec(text)?.[1]);
    },
  });
}

async function tlsFiles(directory: string, url: string) {
  const certificate = await createCertificate(directory);
  return { url, ca: certificate.cert, ...certificate };
}

async function jsonApi(url: string, path: string, body: object): Promise<Record<string, unknown>> {
  const request = { method: "POST", body: JSON.stringify(body), signal: AbortSignal.timeout(2_000) };
  const response = await fetch(`${url}/v3/${path}`, request);
  const reply = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw new Error(`${path}: ${reply.error ?? response.status}`);
  return reply;
}
