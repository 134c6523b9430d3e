import type { Fact, LastingFact } from "./fact.ts";
import { likelyMistake } from "./likely-mistakes.ts";
import { withMistake, withoutHelpers } from "./mistake.ts";
import type { Limit, Settings } from "./settings.ts";
import { acquireFacts } from "./suites/acquire.ts";
import { clientFacts, noOtherProcessFacts, otherProcessFacts } from "./suites/clients.ts";
import { closeFacts, watchCloseFacts } from "./suites/close.ts";
import { concurrencyFacts } from "./suites/concurrency.ts";
import { connectionFacts, inspectConnectionFacts, watchConnectionFacts } from "./suites/connections.ts";
import { expiryFacts } from "./suites/expiry.ts";
import { extendFacts } from "./suites/extend.ts";
import { fenceFacts } from "./suites/fence.ts";
import {
  floorFacts,
  floorOfferFacts,
  inspectFloorFacts,
  lastingFloorFacts,
  lastingProcessFloorFacts,
  outageFloorFacts,
  processFloorFacts,
  redlockFloorFacts,
  waitingFloorFacts,
} from "./suites/floor.ts";
import { inspectFacts, noInspectFacts } from "./suites/inspect.ts";
import { lastingFacts, lastingMs, lastingOutageFacts, lastingProcessFacts } from "./suites/lasting.ts";
import { limitFacts } from "./suites/limits.ts";
import { malformedFacts } from "./suites/malformed.ts";
import { nameFacts } from "./suites/names.ts";
import { inspectOutageFacts, noServerFacts, outageFacts, watchOutageFacts } from "./suites/outages.ts";
import { redlockFacts, redlockOutageFacts } from "./suites/redlock.ts";
import { rejoinFacts } from "./suites/rejoin.ts";
import { releaseFacts } from "./suites/release.ts";
import { floorConnectionFacts, scanFacts } from "./suites/scan.ts";
import { sharingFacts } from "./suites/sharing.ts";
import { sizeFacts } from "./suites/sizes.ts";
import { takeoverFacts } from "./suites/takeover.ts";
import { lastingTurnFacts, turnFacts, watchTurnFacts } from "./suites/turns.ts";
import {
  advanceWaitingListFacts,
  noWaitingListFacts,
  waiterFacts,
  waitingListFacts,
  watchWaitingListFacts,
} from "./suites/waiting-lists.ts";
import { noWatchFacts, watchFacts } from "./suites/watch.ts";
import { redlockWorldOf } from "./world/redlock-world.ts";
import { type World, worldOf } from "./world/world.ts";

const serversOfRedlock = 5;

/** The optional abilities of a subject, which decide which facts apply. */
export interface Offers {
  readonly watch: boolean;
  readonly inspect: boolean;
  readonly close: boolean;
  /** Whether the node has `raiseFloor` or `scan`. */
  readonly floor: boolean;
  readonly server: boolean;
  /** Whether the suite can open a node in another process. */
  readonly otherProcess: boolean;
  readonly advance: boolean;
  /** Whether the node keeps waiting lists. */
  readonly waitingLists: boolean;
  /** Whether the floor is a number of its own, rather than a raise of all counters. */
  readonly ownFloor: boolean;
  /** Whether resources have different counters, at least as a rule. */
  readonly ownCounters: boolean;
}

/** Registers a step to run when a proof has ended, whether it passed or failed. */
export type CleanUp = (step: () => Promise<void>) => void;

/** A fact together with the creation of its world, which is not a part of the proof. */
export interface Proof {
  readonly statement: string;
  readonly needs: readonly Limit[];
  /** Creates the world, and returns the proof in it. */
  prepare(settings: Settings, cleanUp: CleanUp): Promise<() => Promise<void>>;
  /**
   * Like `prepare`, for a lasting fact: starts the proof at once, so that other proofs can fill the time until the
   * rest.
   */
  begin?(settings: Settings, cleanUp: CleanUp): Promise<() => Promise<void>>;
}

/** Facts under one heading of the report. */
export interface Topic {
  readonly title: string;
  readonly proofs: readonly Proof[];
}

/** Returns the topics and facts that apply to a node with these offers and limits. */
export function topicsFor(offers: Offers, { cannot, only }: Pick<Settings, "cannot" | "only">): readonly Topic[] {
  const applies = ({ needs, statement }: Proof): boolean =>
    !needs.some((limit) => cannot.has(limit)) && (only === undefined || only.has(statement));
  const instead = [...cannot].map(([limit, reason]) =>
    overOneNode(`instead of ${limit}: ${reason}`, limitFacts[limit]),
  );
  return [...topicsOf(offers), ...instead]
    .map(({ title, proofs }) => ({ title, proofs: proofs.filter(applies) }))
    .filter(({ proofs }) => proofs.length > 0);
}

/**
 * Returns the fact with this statement regardless of its needs.
 *
 * @throws {TypeError} if there is none
 */
export function proofOf(statement: string): Proof {
  const everything = {
    watch: true,
    inspect: true,
    close: true,
    floor: true,
    server: true,
    otherProcess: true,
    advance: true,
    waitingLists: true,
    ownFloor: true,
    ownCounters: true,
  };
  const topics = [...topicsOf(everything), ...Object.values(limitFacts).map((facts) => overOneNode("limits", facts))];
  const proof = topics.flatMap(({ proofs }) => proofs).find((each) => each.statement === statement);
  if (proof === undefined) throw new TypeError(`the suite has no test "${statement}"`);
  return proof;
}

function topicsOf(offers: Offers): readonly Topic[] {
  const { watch, inspect, close, floor, server, otherProcess, advance, waitingLists } = offers;
  const outages = [
    ...outageFacts,
    ...(watch ? watchOutageFacts : []),
    ...(inspect ? inspectOutageFacts : []),
    ...(floor ? outageFloorFacts : []),
  ];
  const connections = [
    ...connectionFacts,
    ...(watch ? watchConnectionFacts : []),
    ...(inspect ? inspectConnectionFacts : []),
    ...(floor ? floorConnectionFacts : []),
  ];
  const listFacts = waitingLists
    ? [
        ...waitingListFacts,
        ...turnFacts,
        ...(watch ? [...watchWaitingListFacts, ...watchTurnFacts] : []),
        ...(advance ? advanceWaitingListFacts : []),
      ]
    : noWaitingListFacts;
  const lasting = [
    ...lastingFacts,
    ...(waitingLists ? lastingTurnFacts : []),
    ...(server ? lastingOutageFacts : []),
    ...(otherProcess ? lastingProcessFacts : []),
    ...(floor ? lastingFloorFacts : []),
    ...(floor && otherProcess ? lastingProcessFloorFacts : []),
  ];
  const floorAndEpoch = [
    ...floorFacts,
    ...(inspect ? inspectFloorFacts : []),
    ...(waitingLists ? waitingFloorFacts : []),
    ...(otherProcess ? processFloorFacts : []),
  ];
  return [
    overOneNode("acquire", acquireFacts),
    overOneNode("extend", extendFacts),
    overOneNode("rejoin", rejoinFacts),
    overOneNode("release", releaseFacts),
    overOneNode("expiry", expiryFacts),
    overOneNode("fence", fenceFacts),
    overOneNode("takeover", takeoverFacts),
    overOneNode("shared claims", sharingFacts),
    overOneNode("floor and epoch", [...floorOfferFacts, ...(floor ? floorAndEpoch : [])]),
    overOneNode("scan", floor ? scanFacts : []),
    overOneNode("names and owners", nameFacts),
    overOneNode("many resources and claims", sizeFacts),
    overOneNode("malformed requests", malformedFacts),
    overOneNode("two clients", clientFacts),
    overOneNode("concurrency", concurrencyFacts),
    overOneNode("another process", otherProcess ? otherProcessFacts : noOtherProcessFacts),
    overOneNode("wake-ups", watch ? watchFacts : noWatchFacts),
    overOneNode("waiting lists", [...waiterFacts, ...listFacts]),
    overOneNode("inspection", inspect ? inspectFacts : noInspectFacts),
    overOneNode("closing", close ? [...closeFacts, ...(watch ? watchCloseFacts : [])] : []),
    overOneNode("outages", server ? outages : noServerFacts),
    overOneNode("connections", server ? connections : []),
    overFiveNodes("Redlock over five nodes", [
      ...redlockFacts,
      ...(floor ? redlockFloorFacts : []),
      ...(server ? redlockOutageFacts : []),
    ]),
    { title: "lasting claims and counters", proofs: lasting.map(lastingProof) },
  ];
}

function overOneNode(title: string, facts: readonly Fact[]): Topic {
  return topic(title, facts, freshWorld);
}

function overFiveNodes(title: string, facts: readonly Fact<ReturnType<typeof redlockWorldOf>>[]): Topic {
  return topic(title, facts, async (settings, cleanUp) => {
    const worlds = Array.from({ length: serversOfRedlock }, () => freshWorld(settings, cleanUp));
    return redlockWorldOf(await Promise.all(worlds), settings.timeoutMs);
  });
}

function topic<W>(
  title: string,
  facts: readonly Fact<W>[],
  create: (settings: Settings, cleanUp: CleanUp) => Promise<W>,
): Topic {
  const proofs = facts.map(
    ({ statement, needs, prove }): Proof => ({
      statement,
      needs,
      async prepare(settings, cleanUp) {
        const world = await create(settings, cleanUp);
        return () => withLikelyMistake(statement, () => prove(world));
      },
    }),
  );
  return { title, proofs };
}

function lastingProof({ statement, needs, begin }: LastingFact): Proof {
  const beginIn = async (world: World): Promise<() => Promise<void>> => {
    const startMs = world.elapsedMs();
    const end = await begin(world);
    return async () => {
      await world.pass(Math.max(0, lastingMs - (world.elapsedMs() - startMs)));
      await end();
    };
  };
  return {
    statement,
    needs,
    async prepare(settings, cleanUp) {
      const world = await freshWorld(settings, cleanUp);
      return () =>
        withLikelyMistake(statement, async () => {
          const end = await beginIn(world);
          await end();
        });
    },
    async begin(settings, cleanUp) {
      const end = await beginIn(await freshWorld(settings, cleanUp));
      return () => withLikelyMistake(statement, end);
    },
  };
}

async function withLikelyMistake(statement: string, prove: () => Promise<void>): Promise<void> {
  try {
    await prove();
  } catch (error) {
    throw withMistake(withoutHelpers(error), likelyMistake(statement));
  }
}

async function freshWorld(settings: Settings, cleanUp: CleanUp): Promise<World> {
  const subject = await settings.create();
  let close = (): Promise<void> => subject.close();
  cleanUp(() => close());
  const world = worldOf(subject, settings);
  close = () => world.close();
  return world;
}
