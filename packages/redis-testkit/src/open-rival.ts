/** What a rival process needs of the subjects: loading more, such as the suite, would take most of its start. */
import { setTimeout } from "node:timers/promises";
import type { OpenedNode } from "@holdfast/conformance";
import type { RedisNode, RedisNodeOptions } from "@holdfast/redis";

/** The part of a client that subjects need. */
export interface SubjectClient {
  readonly node: Omit<RedisNode, "raiseFloor" | "scan"> & Partial<Pick<RedisNode, "raiseFloor" | "scan">>;
  close(): void;
}

/** The options of a module that opens rivals. */
export interface RivalOptions {
  readonly client: string;
  readonly ports: readonly number[];
  readonly options: RedisNodeOptions;
}

/** Creates the requested client in another process, and resolves with its node when it is connected. */
export async function openRival(
  makers: Readonly<Record<string, (ports: readonly number[], options: RedisNodeOptions) => SubjectClient>>,
  { client, ports, options }: RivalOptions,
): Promise<OpenedNode> {
  const make = makers[client];
  if (make === undefined) throw new Error(`no client ${client}`);
  const made = ports.length > 1 ? withoutFloor(make(ports, options)) : make(ports, options);
  await untilConnected([made], ports.length);
  return { node: made.node, close: () => closed(made) };
}

/** Closes a client and its node. */
export async function closed({ node, close }: SubjectClient): Promise<void> {
  await node.close();
  close();
}

/** Enough names for every master of a cluster to have some. A single server needs one. */
const names = Array.from({ length: 64 }, (_, index) => `warm-up ${index}`);
const connectTimeoutMs = 30_000;

/** Waits until clients reach all masters. */
export async function untilConnected(clients: readonly SubjectClient[], masters: number): Promise<void> {
  const asked = masters > 1 ? names : names.slice(0, 1);
  for (const endMs = performance.now() + connectTimeoutMs; ; ) {
    try {
      for (const { node } of clients) await Promise.all(asked.map((name) => node.inspect(name)));
      return;
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await setTimeout(5);
    }
  }
}

/** Leaves out the methods of operators' tools. */
export function withoutFloor({ node, close }: SubjectClient): SubjectClient {
  const { raiseFloor, scan, ...others } = node;
  return { node: others, close };
}
