/** Attacks on clients. */

import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { MessageTest, Stage } from "../attack/stage.ts";
import type { ClientMessage } from "../client/messages.ts";
import type { Client } from "../world/client.ts";
import type { Nemesis } from "./nemesis.ts";
import { onProxies, reconnect } from "./strikes.ts";

const holdBack = onProxies((proxy) => proxy.stall());

export const clientNemeses: readonly Nemesis[] = [
  {
    name: "calm",
    description: "nothing at all, for comparison",
    kind: "survivable",
    nodes: "none",
    clients: 0,
    attack: (stage) => stage.last(),
  },
  {
    name: "client-pause-short",
    description: "a holder is stopped (SIGSTOP) for less than its validity",
    kind: "survivable",
    ...onClient(async (stage, client) => {
      await stage.until(`a lock for ${client.name}`, isOf(client, "granted"));
      await stage.during(client.name, "stopped", async () => {
        client.pause();
        await stage.sleep((stage.ttlMs * stage.dice.integer(20, 60)) / 100).finally(client.resume);
      });
      await stage.last();
    }),
  },
  {
    name: "client-pause-long",
    description: "a holder is stopped (SIGSTOP) between its last check of the lock and its write, past its validity",
    kind: "lock-breaking",
    ...onClient(async (stage, client) => {
      await stage.until(`a visit of ${client.name}`, isOf(client, "writing"));
      await stage.begin(client.name, "stopped", client.pause, client.resume);
      const stoppedAtMs = monotonicMs();
      await stage.until(
        "the next holder's write",
        (message) => message.kind === "visited" && message.visit.grantedAtMs > stoppedAtMs,
      );
      await stage.heal();
      await stage.until(`${client.name} to wake`, isOf(client, "visited"));
    }),
  },
  {
    name: "client-crash",
    description: "a holder is killed and starts again: its lock lasts until its ttl ends",
    kind: "survivable",
    ...onClient(async (stage, client) => {
      await stage.until(`a visit of ${client.name}`, isOf(client, "writing"));
      await stage.during(client.name, "killed", () => client.kill(stage.ttlMs));
      await stage.until(`a lock for ${client.name}`, isOf(client, "granted"));
    }),
  },
  {
    name: "client-unreachable",
    description: "a holder's messages and those to it are held back, by all servers, until another client has its lock",
    kind: "survivable",
    ...onClient(async (stage, client) => {
      await stage.until(`a visit of ${client.name}`, isOf(client, "granted"));
      await stage.begin(
        client.name,
        "unreachable",
        () => holdBack(client),
        () => reconnect(client),
      );
      await stage.until("the next holder", ({ kind, ...of }) => kind === "granted" && of.client !== client.name);
      await stage.heal();
      await stage.until(`a lock for ${client.name}`, isOf(client, "granted"));
    }),
  },
];

/** An attack on one client, which may last until that client holds a lock. */
function onClient(attack: (stage: Stage, client: Client) => Promise<void>) {
  return {
    ...({ nodes: "none", clients: 1 } as const),
    attack: (stage: Stage): Promise<void> => attack(stage, stage.clients[0] as Client),
  };
}

function isOf({ name }: Client, kind: ClientMessage["kind"]): MessageTest {
  return (message) => message.client === name && message.kind === kind;
}
