import { createDice, type Dice } from "@holdfast/app-kit/dice";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { Sets } from "../history/visit.ts";
import { names } from "../names.ts";
import type { ChaosOptions } from "../options.ts";
import { startStore } from "../world/servers.ts";
import { type Chronicler, type Moment, startChronicle } from "./chronicle.ts";
import { createMember, type Member } from "./crew.ts";
import type { MemberOrder, ServerAddresses } from "./messages.ts";
import { createOperator, type Operator } from "./operator.ts";
import { type MemberServer, startMemberServer } from "./servers.ts";
import { type Change, type Stage, serversOf } from "./stages.ts";

const clientProgram = new URL("./member-process.ts", import.meta.url);
const operatorProgram = new URL("./operator-process.ts", import.meta.url);

/** Clients' clocks are wrong by up to half a day; a node accepts tokens of up to a day ahead. */
const clockErrorMsMax = 12 * 60 * 60 * 1_000;

/** How long a step of a change waits for the locks of older clients, in milliseconds. */
const settlePatienceMs = 30_000;

/** For how long no older client may have held a lock before a step goes on, in milliseconds. */
const watchMs = 1_000;

const shortResources = names("stock-", 6);
const quietResources = names("rare-", 4);
const longResources = names("job-", 5);

/** What a world is made of. */
export interface WorldOptions extends Pick<ChaosOptions, "clients" | "ttlMs" | "seed"> {
  /** How long a server does not vote after its start, in milliseconds. Default: 0. */
  readonly restartGuardMs?: number;
  /** Whether nothing checks epochs, or writes floors: the counter-examples. */
  readonly without?: "epochs" | "floors";
  /** Whether the clocks of the first half of the clients are behind, and the others ahead. Default: random. */
  readonly areClocksOrdered?: boolean;
}

/** The parts of a run. */
export interface World {
  readonly dice: Dice;
  readonly servers: ReadonlyMap<string, MemberServer>;
  readonly members: readonly Member[];
  readonly operator: Operator;
  readonly recorder: Chronicler;
  readonly restartGuardMs: number;
  look(): Promise<ReadonlyMap<string, Sets>>;
  /** Rejects when a process ends that nobody has ended. */
  readonly broken: Promise<never>;
}

/** Starts everything, and resolves when all clients take locks. */
export async function startWorld(
  options: WorldOptions,
  changes: readonly Change[],
  onMoment: (moment: Moment) => void,
  cleanup: Cleanup,
): Promise<World> {
  const { ttlMs, restartGuardMs = 0 } = options;
  const dice = createDice(options.seed);
  const bundles = { client: await bundleProgram(clientProgram), operator: await bundleProgram(operatorProgram) };
  const serverNames = [...new Set(changes.flatMap(({ joint }) => serversOf(joint)))];
  const started = await Promise.all(serverNames.map((name) => startMemberServer(name, cleanup)));
  const servers = new Map(started.map((server) => [server.name, server]));
  const { storeUrl, look: lookAt } = await startStore(cleanup);
  let recorder: Chronicler;
  let reportBroken: (error: Error) => void = () => {};
  const broken = new Promise<never>((_, reject) => {
    reportBroken = reject;
  });
  broken.catch(() => {});
  const addresses = {
    urls: Object.fromEntries(started.map(({ name, url }) => [name, url])),
    library: "ioredis",
    restartGuardMs,
  } satisfies ServerAddresses;
  const orderOf = (client: string, index: number): MemberOrder => ({
    ...addresses,
    library: index % 2 === 0 ? "ioredis" : "node-redis",
    client,
    stage: changes[0]?.before as Stage,
    storeUrl,
    ttlMs,
    ignoresEpochs: options.without === "epochs",
    clockAheadMs: clockErrorOf(index, dice, options),
    resources: shortResources,
    quietResources,
    longResource: longResources[index % longResources.length] as string,
  });
  const members = names("c", options.clients).map((name, index) =>
    createMember(bundles.client, orderOf(name, index), () => recorder, reportBroken, cleanup),
  );
  recorder = startChronicle(() => countBy(members.map(({ stage }) => stage.epoch)), onMoment);
  const operatorOrder = {
    ...addresses,
    nodeTimeoutMs: 1_000,
    ttlMs,
    watchMs,
    settleMs: settlePatienceMs,
    ignoresFloors: options.without === "floors",
  };
  const operator = createOperator(bundles.operator, operatorOrder, { dice, recorder, cleanup });
  await Promise.all(members.map((member) => member.start()));
  const look = async (): Promise<ReadonlyMap<string, Sets>> => {
    const resources = [...shortResources, ...quietResources, ...longResources];
    return new Map(await Promise.all(resources.map(async (name) => [name, await lookAt(name)] as const)));
  };
  return { dice, servers, members, operator, recorder, restartGuardMs, look, broken };
}

/** Returns how far the clock of a client is ahead, in milliseconds. */
function clockErrorOf(index: number, dice: Dice, { clients, areClocksOrdered }: WorldOptions): number {
  if (areClocksOrdered) return index < clients / 2 ? -clockErrorMsMax : clockErrorMsMax;
  return dice.integer(-clockErrorMsMax, clockErrorMsMax);
}

function countBy(values: readonly number[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
