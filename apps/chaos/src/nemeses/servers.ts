/** Attacks on servers that keep running. */
import type { Nemesis } from "./nemesis.ts";
import { againAndAgain, onNodes, survivable } from "./strikes.ts";
import { refusesWrites } from "./took-hold.ts";

const fillers = 15;

export const serverNemeses: readonly Nemesis[] = [
  {
    ...survivable,
    name: "server-pause",
    description: "a minority is stopped (SIGSTOP), and then resumed (SIGCONT)",
    attack: onNodes(
      "stopped",
      ({ server }) => server.pause(),
      ({ server }) => server.resume(),
    ),
  },
  {
    ...survivable,
    nodes: "all",
    name: "script-flush",
    description: "all servers forget the script repeatedly (SCRIPT FLUSH)",
    attack: againAndAgain("script flushes", 20, ({ server }) => server.command("SCRIPT", "FLUSH")),
  },
  {
    ...survivable,
    name: "client-kill",
    description: "a minority closes all connections repeatedly (CLIENT KILL)",
    attack: againAndAgain("client kills", 60, ({ server }) => server.command("CLIENT", "KILL", "TYPE", "normal")),
  },
  {
    ...survivable,
    name: "out-of-memory",
    description: "a minority has no memory left for writes (maxmemory 1, noeviction)",
    attack: refusingWrites("out of memory", "OOM", ...setting("maxmemory")),
  },
  {
    ...survivable,
    name: "read-only",
    description: "a minority accepts no writes, because it is a replica for a while (REPLICAOF)",
    attack: refusingWrites("read-only", "READONLY", ["REPLICAOF", "127.0.0.1", 1], ["REPLICAOF", "NO", "ONE"]), // no master there
  },
  {
    ...survivable,
    name: "no-replicas",
    description: "a minority accepts no writes, because it lacks replicas (min-replicas-to-write)",
    attack: refusingWrites("lacks replicas", "NOREPLICAS", ...setting("min-replicas-to-write")),
  },
  {
    ...survivable,
    name: "loading",
    description: "a minority loads its data (DEBUG RELOAD), and replies -LOADING meanwhile",
    attack: onNodes(
      "loading",
      async (node, { durationMs }) => {
        const { server } = node;
        // Incompressible, and longer than the interval at which a loading server serves its connections.
        await server.command("DEBUG", "POPULATE", fillers, "filler", 1500);
        await server.command("CONFIG", "SET", "key-load-delay", Math.ceil((durationMs * 1000) / fillers));
        server.command("DEBUG", "RELOAD").catch(() => {}); // the reply comes when it is over
        await refusesWrites(node, "LOADING");
      },
      ({ server }) => server.command("CONFIG", "SET", "key-load-delay", 0),
    ),
  },
];

type Command = readonly [name: string, ...args: (string | number)[]];

/** Commands that set an option to 1, and back to 0. */
function setting(option: string): [begin: Command, end: Command] {
  return [
    ["CONFIG", "SET", option, 1],
    ["CONFIG", "SET", option, 0],
  ];
}

/** Makes servers refuse writes with an error code, by one command, until another one ends that. */
function refusingWrites(label: string, code: string, begin: Command, end: Command): Nemesis["attack"] {
  return onNodes(
    label,
    async (node) => {
      await node.server.command(...begin);
      await refusesWrites(node, code);
    },
    ({ server }) => server.command(...end),
  );
}
