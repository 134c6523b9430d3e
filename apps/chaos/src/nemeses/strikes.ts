import type { TcpProxy } from "@holdfast/conformance/tcp-proxy";
import type { Stage, Step } from "../attack/stage.ts";
import type { ChaosNode } from "../world/node.ts";
import type { Nemesis } from "./nemesis.ts";

/** What most of these nemeses are. */
export const survivable = { kind: "survivable", nodes: "minority", clients: 0 } as const;

/** Begins the same fault on several nodes. */
export async function beginOn(
  stage: Pick<Stage, "begin">,
  nodes: readonly ChaosNode[],
  label: string,
  begin: (node: ChaosNode) => Step,
  end: (node: ChaosNode) => Step,
): Promise<void> {
  const strike = (node: ChaosNode): Promise<void> => {
    return stage.begin(
      node.name,
      label,
      () => begin(node),
      () => end(node),
    );
  };
  await Promise.all(nodes.map(strike));
}

/** Strikes all of its nodes with the same fault, for a while. */
export function onNodes(
  label: string,
  begin: (node: ChaosNode, stage: Stage) => Step,
  end: (node: ChaosNode) => Step,
): Nemesis["attack"] {
  return async (stage) => {
    await beginOn(stage, stage.nodes, label, (node) => begin(node, stage), end);
    await stage.last();
  };
}

/** Does something to each connection of a node, or of a client. */
export function onProxies(act: (proxy: TcpProxy) => Step) {
  return ({ proxies }: { proxies: readonly TcpProxy[] }): Step => Promise.all(proxies.map(act));
}

/** Ends every fault of the connections. */
export const reconnect = onProxies((proxy) => proxy.start());

/** Strikes each connection to its nodes, for a while. */
export function onConnections(label: string, act: (proxy: TcpProxy, stage: Stage) => Step): Nemesis["attack"] {
  return onNodes(label, (node, stage) => onProxies((proxy) => act(proxy, stage))(node), reconnect);
}

/** Strikes all of its nodes repeatedly, for a while. */
export function againAndAgain(label: string, everyMs: number, strike: (node: ChaosNode) => Step): Nemesis["attack"] {
  const stops = new Map<ChaosNode, () => Promise<void>>();
  return onNodes(
    label,
    (node) =>
      void stops.set(
        node,
        repeat(everyMs, () => strike(node)),
      ),
    (node) => stops.get(node)?.(),
  );
}

/** Repeats an action. Returns a function that stops after the current one. */
function repeat(everyMs: number, action: () => Step): () => Promise<void> {
  let isStopped = false;
  const over = (async () => {
    while (!isStopped) {
      await action();
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  })();
  over.catch(() => {}); // the function below rejects
  return async () => {
    isStopped = true;
    await over;
  };
}
