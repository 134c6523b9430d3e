import type { ChaosNode } from "../world/node.ts";
import type { Nemesis, Stage, Step } from "./nemesis.ts";

/** What most of these nemeses are. */
export const survivable = { kind: "survivable", nodes: "minority", clients: 0 } as const;

/** Strikes all of its nodes with the same fault, for a while. */
export function onNodes(
  label: string,
  begin: (node: ChaosNode, stage: Stage) => Step,
  end: (node: ChaosNode) => Step,
): Nemesis["attack"] {
  return async (stage) => {
    await Promise.all(
      stage.nodes.map((node) =>
        stage.begin(
          node.name,
          label,
          () => begin(node, stage),
          () => end(node),
        ),
      ),
    );
    await stage.last();
  };
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
