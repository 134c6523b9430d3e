import type { Fault } from "../scenario/fault.ts";
import type { ClientProcess } from "./client-process.ts";
import type { Network } from "./network.ts";
import type { NodeHost } from "./node-host.ts";
import type { Operator } from "./operator.ts";
import { phase, type World } from "./world.ts";

/** The parts of a world that faults can strike. */
export interface Targets {
  readonly world: World;
  /** The processes by name. That of the operator is replaced when it crashes. */
  readonly clients: ReadonlyMap<string, ClientProcess>;
  readonly hosts: ReadonlyMap<string, NodeHost>;
  readonly network: Network;
  /** The operator, if there is one. */
  readonly operator?: Operator;
}

/** Schedules a fault. Faults of single messages are not handled here but by the connections. */
export function inject(fault: Fault, targets: Targets): void {
  if ("message" in fault || "notification" in fault || "watch" in fault || "access" in fault) return;
  targets.world.at("atMs" in fault ? fault.atMs : 0, phase.fault, () => strikeOf(fault, targets)?.());
}

function strikeOf(fault: Fault, { world, clients, hosts, network, operator }: Targets): (() => void) | undefined {
  const client = clients.get("client" in fault ? fault.client : "of" in fault ? fault.of : "");
  const host = hosts.get("node" in fault ? fault.node : "of" in fault ? fault.of : "");
  const now = (effect: () => void) => (): void => {
    if (client?.isDead) return;
    effect();
    network.struck(fault);
  };
  switch (fault.kind) {
    case "partition":
      return now(() => {
        network.part(fault);
        world.at(world.nowMs + fault.forMs, phase.fault, () => network.heal(fault));
      });
    case "node crash":
      return now(() => (operator && host ? operator.crash(host, fault) : host?.crash(fault)));
    case "client crash":
      return now(() => {
        client?.die();
        if (client === operator?.process) operator?.restart();
        for (const each of hosts.values()) each.forgetWatches(fault.client);
      });
    case "clock jump":
      return now(() => (client ? client.setWall(fault.byMs) : host?.setClock(fault.byMs)));
    case "clock drift":
      return now(() => (client ?? host)?.drift(fault.rate));
    case "suspension":
      return now(() => client?.suspend(fault.forMs));
    case "pause": {
      const strike = now(() => client?.hold(fault.forMs));
      return fault.step === 0 ? strike : () => client?.pauseAtStep(fault.step - 1, strike);
    }
    case "broken watch":
      return () => {
        if (!client?.isDead && host?.forgetWatches(fault.client)) network.struck(fault);
      };
    case "pause before acting":
      return () => client?.pauseBeforeActing(now(() => client.hold(fault.forMs)));
    default:
      return undefined;
  }
}
