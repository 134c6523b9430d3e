/** Attacks on clients. */
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { Nemesis } from "./nemesis.ts";

export const clientNemeses: readonly Nemesis[] = [
  {
    name: "calm",
    description: "nothing at all, for comparison",
    kind: "survivable",
    pictured: true,
    nodes: "none",
    clients: 0,
    attack: (stage) => stage.last(),
  },
  {
    name: "client-pause-short",
    description: "a holder is stopped (SIGSTOP) for less than its validity",
    kind: "survivable",
    nodes: "none",
    clients: 1,
    async attack(stage) {
      const [client] = stage.clients;
      if (client === undefined) return;
      await stage.until(
        `a lock for ${client.name}`,
        ({ kind, ...of }) => of.client === client.name && kind === "granted",
      );
      await stage.during(client.name, "stopped", async () => {
        client.pause();
        await stage.sleep((stage.ttlMs * stage.dice.integer(20, 60)) / 100).finally(client.resume);
      });
      await stage.last();
    },
  },
  {
    name: "client-pause-long",
    description: "a holder is stopped (SIGSTOP) between its last check of the lock and its write, past its validity",
    kind: "lock-breaking",
    pictured: true,
    nodes: "none",
    clients: 1,
    async attack(stage) {
      const [client] = stage.clients;
      if (client === undefined) return;
      await stage.until(
        `a visit of ${client.name}`,
        ({ kind, ...of }) => of.client === client.name && kind === "writing",
      );
      await stage.begin(client.name, "stopped", client.pause, client.resume);
      const stoppedAtMs = monotonicMs();
      await stage.until(
        "the next holder's write",
        (message) => message.kind === "visited" && message.visit.grantedAtMs > stoppedAtMs,
      );
      await stage.heal();
      await stage.until(`${client.name} to wake`, ({ kind, ...of }) => of.client === client.name && kind === "visited");
    },
  },
];
