/** What a rival process needs of the subjects: loading more, such as the suite, would take most of its start. */
import { setTimeout } from "node:timers/promises";
import type { OpenedNode } from "@holdfast/conformance";
import type { RedisNode, RedisNodeOptions } from "@holdfast/redis";

/** A node of a subject. That of a cluster leaves out the methods of operators' tools. */
export type SubjectNode = Omit<RedisNode, "raiseFloor" | "scan"> & Partial<Pick<RedisNode, "raiseFloor" | "scan">>;

/** The part of a client that subjects need. */
export interface SubjectClient {
  /** Creates a node over the client. */
  openNode(options: RedisNodeOptions): SubjectNode;
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
  makers: Readonly<Record<string, (ports: readonly number[]) => SubjectClient>>,
  { client, ports, options }: RivalOptions,
): Promise<OpenedNode> {
  const make = makers[client];
  if (make === undefined) throw new Error(`no client ${client}`);
  const made = make(ports);
  const node = made.openNode(options);
  await untilConnected([node], ports.length);
  return {
    node: ports.length > 1 ? withoutFloor(node) : node,
    async close() {
      await node.close();
      made.close();
    },
  };
}

/** Enough names for every master of a cluster to have some. A single server needs one. */
const names = Array.from({ length: 64 }, (_, index) => `warm-up ${index}`);
const connectTimeoutMs = 30_000;

/** Waits until nodes reach all masters. */
export async function untilConnected(nodes: readonly SubjectNode[], masters: number): Promise<void> {
  const asked = masters > 1 ? names : names.slice(0, 1);
  for (const endMs = performance.now() + connectTimeoutMs; ; ) {
    try {
      for (const node of nodes) await Promise.all(asked.map((name) => node.inspect(name)));
      return;
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await setTimeout(5);
    }
  }
}

/** Leaves out the methods of operators' tools. */
export function withoutFloor({ raiseFloor, scan, ...others }: SubjectNode): SubjectNode {
  return others;
}
