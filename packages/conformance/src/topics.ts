import type { SubjectPart } from "./broken-nodes/broken-node.ts";
import type { Conditions, Fact, LastingFact, Need } from "./fact.ts";
import { likelyMistake } from "./likely-mistakes.ts";
import { withMistake, withoutHelpers } from "./mistake.ts";
import type { Limit, Settings } from "./settings.ts";
import { acquireFacts } from "./suites/acquire.ts";
import { clientFacts, processFacts } from "./suites/clients.ts";
import { closeFacts } from "./suites/close.ts";
import { concurrencyFacts } from "./suites/concurrency.ts";
import { connectionFacts } from "./suites/connections.ts";
import { expiryFacts } from "./suites/expiry.ts";
import { extendFacts } from "./suites/extend.ts";
import { fenceFacts } from "./suites/fence.ts";
import { floorFacts, floorOfferFacts, lastingFloorFacts, outageFloorFacts, redlockFloorFacts } from "./suites/floor.ts";
import { inspectFacts } from "./suites/inspect.ts";
import { lastingFacts, lastingMs } from "./suites/lasting.ts";
import { limitFacts } from "./suites/limits.ts";
import { malformedFacts } from "./suites/malformed.ts";
import { nameFacts } from "./suites/names.ts";
import { outageFacts } from "./suites/outages.ts";
import { redlockFacts } from "./suites/redlock.ts";
import { rejoinFacts } from "./suites/rejoin.ts";
import { releaseFacts } from "./suites/release.ts";
import { scanFacts } from "./suites/scan.ts";
import { sharingFacts } from "./suites/sharing.ts";
import { sizeFacts } from "./suites/sizes.ts";
import { takeoverFacts } from "./suites/takeover.ts";
import { lastingTurnFacts, turnFacts } from "./suites/turns.ts";
import { waitingListFacts } from "./suites/waiting-lists.ts";
import { watchFacts } from "./suites/watch.ts";
import { redlockWorldOf } from "./world/redlock-world.ts";
import { type World, worldOf } from "./world/world.ts";

const serversOfRedlock = 5;

/** Which optional parts a subject offers. They decide which facts apply. */
export type Offers = Readonly<Record<SubjectPart, boolean>>;

/** Registers a step to run when a proof has ended, whether it passed or failed. */
export type CleanUp = (step: () => Promise<void>) => void;

/** A fact together with the creation of its world, which is not a part of the proof. */
export interface Proof extends Conditions {
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
  const isMissing = (need: Need): boolean => cannot.has(need as Limit) || offers[need as SubjectPart] === false;
  const applies = ({ needs, lacks, statement }: Proof): boolean =>
    !needs.some(isMissing) && (lacks === undefined || !offers[lacks]) && (only === undefined || only.has(statement));
  const instead = [...cannot].map(([limit, reason]) =>
    overOneNode(`instead of ${limit}: ${reason}`, limitFacts[limit]),
  );
  return [...topics(!cannot.has("floor")), ...instead]
    .map(({ title, proofs }) => ({ title, proofs: proofs.filter(applies) }))
    .filter(({ proofs }) => proofs.length > 0);
}

/**
 * Returns the fact with this statement regardless of its needs.
 *
 * @throws {TypeError} if there is none
 */
export function proofOf(statement: string): Proof {
  const all = [...topics(true), ...Object.values(limitFacts).map((facts) => overOneNode("limits", facts))];
  const proof = all.flatMap(({ proofs }) => proofs).find((each) => each.statement === statement);
  if (proof === undefined) throw new TypeError(`the suite has no test "${statement}"`);
  return proof;
}

/** Returns all topics. `mustHaveFloor`: whether a node without a floor fails, as it declares no reason. */
function topics(mustHaveFloor: boolean): readonly Topic[] {
  return [
    overOneNode("acquire", acquireFacts),
    overOneNode("extend", extendFacts),
    overOneNode("rejoin", rejoinFacts),
    overOneNode("release", releaseFacts),
    overOneNode("expiry", expiryFacts),
    overOneNode("fence", fenceFacts),
    overOneNode("takeover", takeoverFacts),
    overOneNode("shared claims", sharingFacts),
    overOneNode("floor and epoch", [...(mustHaveFloor ? floorOfferFacts : []), ...floorFacts]),
    overOneNode("scan", scanFacts),
    overOneNode("names and owners", nameFacts),
    overOneNode("many resources and claims", sizeFacts),
    overOneNode("malformed requests", malformedFacts),
    overOneNode("two clients", clientFacts),
    overOneNode("concurrency", concurrencyFacts),
    overOneNode("another process", processFacts),
    overOneNode("wake-ups", watchFacts),
    overOneNode("waiting lists", [...waitingListFacts, ...turnFacts]),
    overOneNode("inspection", inspectFacts),
    overOneNode("closing", closeFacts),
    overOneNode("outages", [...outageFacts, ...outageFloorFacts]),
    overOneNode("connections", connectionFacts),
    overFiveNodes("Redlock over five nodes", [...redlockFacts, ...redlockFloorFacts]),
    {
      title: "lasting claims and counters",
      proofs: [...lastingFacts, ...lastingTurnFacts, ...lastingFloorFacts].map(lastingProof),
    },
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
    ({ prove, ...conditions }): Proof => ({
      ...conditions,
      async prepare(settings, cleanUp) {
        const world = await create(settings, cleanUp);
        return () => withLikelyMistake(conditions.statement, () => prove(world));
      },
    }),
  );
  return { title, proofs };
}

function lastingProof({ begin, ...conditions }: LastingFact): Proof {
  const { statement } = conditions;
  const beginIn = async (world: World): Promise<() => Promise<void>> => {
    const startMs = world.elapsedMs();
    const end = await begin(world);
    return async () => {
      await world.pass(Math.max(0, lastingMs - (world.elapsedMs() - startMs)));
      await end();
    };
  };
  return {
    ...conditions,
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
