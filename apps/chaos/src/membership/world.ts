import { createDice, type Dice } from "@holdfast/app-kit/dice";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { Task } from "../client/messages.ts";
import { names } from "../names.ts";
import { adapters, type ChaosOptions } from "../options.ts";
import { type Change, nameOf, type Stage, serversOf } from "../world/stages.ts";
import * as base from "../world/world.ts";
import { startChronicle } from "./chronicle.ts";
import { createOperator } from "./operator.ts";

/** Clients' clocks are wrong by up to half a day; a node accepts tokens of up to a day ahead. */
const clockErrorMaxMs = 12 * 60 * 60 * 1_000;

/** Each write goes to a file that survives a kill without syncs, and eleven servers share one disk. */
const serverArgs = ["--appendonly", "yes", "--appendfsync", "no"];

const shortResources = names("stock-", 6);
const quietResources = names("rare-", 4);
const longResources = names("job-", 5);

/** What a world is made of. */
export interface WorldOptions extends Pick<ChaosOptions, "clients" | "ttlMs" | "seed"> {
  /** Whether nothing checks epochs, or writes floors: the counter-examples. */
  readonly without?: "epochs" | "floors";
  /** Whether the clocks of the first half of the clients are behind, and the others ahead. Default: random. */
  readonly areClocksOrdered?: boolean;
}

/** The parts of a run. */
export type World = Awaited<ReturnType<typeof startWorld>>;

/** Starts everything, and resolves when all clients take locks. */
export async function startWorld(
  options: WorldOptions,
  changes: readonly Change[],
  print: (line: string) => void,
  cleanup: Cleanup,
) {
  const { ttlMs } = options;
  const dice = createDice(options.seed);
  // The node timeout is long, for busy machines. Clients wait longer than any fault lasts, which must not make them fail.
  const redlock = { ttlMs, nodeTimeoutMs: ttlMs / 6, waitTimeoutMs: 60_000 };
  const world = await base.startWorld(
    {
      ...{ clients: options.clients, adapters, serverArgs, clocks: false, proxied: false },
      nodes: [...new Set(changes.flatMap(({ joint }) => serversOf(joint)))],
      orderOf: (index) => ({
        ...{ redlock, ignoresEpochs: options.without === "epochs" },
        clockAheadMs: clockErrorOf(index, dice, options),
      }),
    },
    cleanup,
  );
  const { nodes, clients } = world;
  const chronicle = startChronicle(() => clients.map(({ stage }) => nameOf(stage)), print);
  world.reports.on("message", chronicle.hear);
  const urls = Object.fromEntries(nodes.map(({ name, server }) => [name, server.url]));
  const order = { urls, ttlMs, ignoresFloors: options.without === "floors" };
  const operator = await createOperator(order, { dice, chronicle, cleanup });
  const first = changes[0]?.before as Stage;
  await Promise.all(clients.map((client, index) => client.work(first, tasksOf(index, options))));
  return {
    ...{ ...world, dice, operator, chronicle },
    /** Returns what the sets of each resource hold. */
    async lookAtAll() {
      const resources = [...shortResources, ...quietResources, ...longResources];
      return new Map(await Promise.all(resources.map(async (name) => [name, await world.look(name)] as const)));
    },
  };
}

/** Short locks, and long ones, which last longer than their ttl. */
function tasksOf(index: number, { ttlMs, seed }: WorldOptions): readonly Task[] {
  const usual = { extendEvery: 8, sets: "", seed: seed + index };
  const longResource = longResources[index % longResources.length] as string;
  return [
    { ...usual, resources: shortResources, quietResources, dwellMs: [5, 30], restMs: [30, 150] },
    {
      ...usual,
      resources: [longResource],
      autoExtend: true,
      dwellMs: [Math.ceil(1.05 * ttlMs), Math.floor(1.25 * ttlMs)],
      restMs: [200, 200],
    },
  ];
}

/** Returns how far the clock of a client is ahead, in milliseconds. */
function clockErrorOf(index: number, dice: Dice, { clients, areClocksOrdered }: WorldOptions): number {
  if (areClocksOrdered) return index < clients / 2 ? -clockErrorMaxMs : clockErrorMaxMs;
  return dice.integer(-clockErrorMaxMs, clockErrorMaxMs);
}
