import type { Floor, LockNode, ScanPortion } from "@holdfast/core/node";
import type { Fault } from "../scenario/fault.ts";
import type { ClientProcess } from "./client-process.ts";
import { type Exchange, Link } from "./link.ts";
import type { Network } from "./network.ts";
import type { NodeHost } from "./node-host.ts";

/** The connection of the operator to one node. It carries only the requests of the tools that change and heal nodes. */
export class ToolConnection implements LockNode {
  readonly name: string;
  readonly #process: ClientProcess;
  readonly #link: Link;

  /**
   * @param process the process of the operator
   * @param host the node that answers
   * @param network the network between them
   * @param faults the faults that strike messages of this connection
   */
  constructor(process: ClientProcess, host: NodeHost, network: Network, faults: readonly Fault[]) {
    this.name = host.name;
    this.#process = process;
    this.#link = new Link(process, host, network, faults);
  }

  acquire: LockNode["acquire"] = refuse;
  extend: LockNode["extend"] = refuse;
  release: LockNode["release"] = refuse;

  raiseFloor: Required<LockNode>["raiseFloor"] = (request) => {
    const { floor, epoch } = request;
    const what = floor + epoch === 0 ? "read the floor" : `raise the floor to ${floor} and the epoch to ${epoch}`;
    return this.#send<Floor>("raise floor", what, {
      ask: async (node) => methodOf(node, "raiseFloor")(request),
      describe: (kept) => ({ what: `has the floor ${kept.floor} and the epoch ${kept.epoch}` }),
    });
  };

  scan: Required<LockNode>["scan"] = (request) => {
    return this.#send<ScanPortion>("scan", "scan its counters and claims", {
      ask: async (node) => methodOf(node, "scan")(request),
      describe: ({ counters, highest, claims }) => {
        return { what: `has ${counters} counters up to ${highest}, and ${claims.length} claims` };
      },
    });
  };

  #send<Reply>(
    kind: "raise floor" | "scan",
    task: string,
    { ask, describe }: Required<Pick<Exchange<Reply>, "ask" | "describe">>,
  ): Promise<Reply> {
    this.#process.step();
    return this.#link.send<Reply>({ kind, request: () => `to ${task}`, task: () => task, ask, describe });
  }
}

async function refuse(): Promise<never> {
  throw new Error("the operator does not lock");
}

function methodOf<Method extends "raiseFloor" | "scan">(node: LockNode, method: Method): Required<LockNode>[Method] {
  const found = node[method];
  if (found === undefined) throw new Error(`the node has no ${method}()`);
  return found.bind(node) as Required<LockNode>[Method];
}
