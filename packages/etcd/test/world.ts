import { randomUUID } from "node:crypto";
import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
import type { AcquireRequest, ExtendRequest, ReleaseRequest } from "@holdfast/core/node";
import { type EtcdServer, startEtcdServer } from "@holdfast/testkit/etcd-server";
import { onTestFinished } from "vitest";
import { type EtcdNode, type EtcdNodeOptions, etcdNode } from "../src/index.ts";

/** Creates a node that ends with the test. */
export function node(options: EtcdNodeOptions): EtcdNode {
  const created = etcdNode({ prefix: `test ${randomUUID()}/`, ...options });
  onTestFinished(() => created.close());
  return created;
}

/** Creates two nodes with one prefix, which end with the test. */
export function twoNodes(endpoints: string): [EtcdNode, EtcdNode] {
  const options = { endpoints, prefix: `test ${randomUUID()}/` };
  return [node(options), node(options)];
}

/** Starts a server that stops with the test. */
export async function startServer(options: Parameters<typeof startEtcdServer>[0] = {}): Promise<EtcdServer> {
  const server = await startEtcdServer(options);
  onTestFinished(() => server.stop());
  return server;
}

/** Starts a server behind an address, which `replace` leads to another server, without data. */
export async function replaceableServer() {
  const [before, after] = [await startServer(), await startServer()];
  const target = { port: before.port };
  const network = await startTcpProxy(target);
  onTestFinished(() => network.close());
  const replace = async (): Promise<void> => {
    await network.stop();
    target.port = after.port;
    await network.start();
  };
  return { endpoints: `127.0.0.1:${network.port}`, after, replace };
}

export function acquire(owner: string, given: Partial<AcquireRequest> = {}): AcquireRequest {
  return { resources: ["r"], owner, ttlMs: 60_000, timeoutMs: 10_000, fenceHint: 1, ...given };
}

export function extend(owner: string, given: Partial<ExtendRequest> = {}): ExtendRequest {
  return { resources: ["r"], owner, ttlMs: 60_000, timeoutMs: 10_000, fence: 1, rejoin: false, ...given };
}

export function release(owner: string, given: Partial<ReleaseRequest> = {}): ReleaseRequest {
  return { resources: ["r"], owner, timeoutMs: 10_000, ...given };
}
