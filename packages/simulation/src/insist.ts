import type { Fault } from "./fault.ts";
import { type FullScenario, nodeNames } from "./scenario.ts";

/** @throws {RangeError} if a fault names a client or node that the scenario does not have: it would never strike */
export function insistOnKnownNames({ nodes, clients, faults }: FullScenario): void {
  const known = new Set([...nodeNames(nodes), ...clients.map(({ name }) => name)]);
  for (const fault of faults) {
    const unknown = namesIn(fault).find((name) => !known.has(name));
    if (unknown === undefined) continue;
    const names = [...known].join(", ");
    throw new RangeError(`the fault "${fault.kind}" names ${JSON.stringify(unknown)}, which is none of ${names}`);
  }
}

function namesIn(fault: Fault): readonly string[] {
  if (fault.kind === "partition") return [...fault.clients, ...fault.nodes];
  const { client, node, of } = fault as { readonly client?: string; readonly node?: string; readonly of?: string };
  return [client, node, of].filter((name) => name !== undefined);
}
