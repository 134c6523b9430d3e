import type { JointSet, LockNode } from "@holdfast/core";
import type { ChaosAdapter, Connected } from "../adapter.ts";
import { type Stage, serversOf } from "./stages.ts";

/** How to connect to servers. */
export interface Connecting {
  readonly connect: ChaosAdapter["connect"];
  /** The addresses of all servers, by name. */
  readonly urls: Readonly<Record<string, string>>;
  /** Changes each node. */
  readonly adapt?: ((node: LockNode) => LockNode) | undefined;
}

/** Connects to the servers of a stage. Resolves with what a `Redlock` of this stage takes. */
export async function connectStage(
  { sets, restartGuardMs }: Stage,
  { connect, urls, adapt = (node) => node }: Connecting,
): Promise<{ readonly nodes: readonly LockNode[] | JointSet; close: Connected["close"] }> {
  const names = serversOf({ sets });
  const connected = await connect(
    names.map((name) => urls[name] as string),
    { names, restartGuardMs },
  );
  const nodes = connected.nodes.map(adapt);
  const [first, second] = sets.map((set) => set.map((name) => nodes[names.indexOf(name)] as LockNode)) as [
    LockNode[],
    LockNode[] | undefined,
  ];
  return { nodes: second === undefined ? first : { old: first, new: second }, close: () => connected.close() };
}
