import { memoryNode } from "@holdfast/memory";
import type { Client, Settings } from "./contender.ts";
import { holdfastClient } from "./holdfast.ts";

/** As many nodes as there would be servers. */
export async function connect(ports: readonly number[], settings: Settings): Promise<Client> {
  const nodes = ports.map(() => memoryNode());
  return holdfastClient(nodes, settings, () => {});
}
