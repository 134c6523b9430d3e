import { type ConnectedNodes, connectNodes } from "@holdfast/app-kit/nodes";
import type { JointSet, LockNode } from "@holdfast/core";
import type { ServerAddresses } from "./messages.ts";
import { type Stage, serversOf } from "./stages.ts";

/** The nodes of a stage. */
export interface StageNodes {
  /** What a `Redlock` of this stage takes. */
  readonly nodes: readonly LockNode[] | JointSet;
  close: ConnectedNodes["close"];
}

/**
 * Connects to the servers of a stage, any of which may be down.
 *
 * @param adapt changes each node
 */
export async function connectStage(
  stage: Stage,
  addresses: ServerAddresses,
  adapt: (node: LockNode) => LockNode = (node) => node,
): Promise<StageNodes> {
  const { urls, library, restartGuardMs } = addresses;
  const names = serversOf(stage);
  const connected = await connectNodes(
    library,
    names.map((name) => urls[name] as string),
    { names, restartGuardMs, reconnectMs: 50, patienceMs: 500 },
  );
  const nodes = connected.nodes.map(adapt);
  const [first, second] = stage.sets.map((set) => set.map((name) => nodes[names.indexOf(name)] as LockNode)) as [
    LockNode[],
    LockNode[] | undefined,
  ];
  return { nodes: second === undefined ? first : { old: first, new: second }, close: connected.close };
}
