import type { SubjectPart } from "./broken-nodes/broken-node.ts";
import type { Conditions, Fact, Need } from "./fact.ts";
import { likelyMistake } from "./likely-mistakes.ts";
import { withMistake } from "./mistake.ts";
import type { Limit, Settings } from "./settings.ts";
import { acquireFacts } from "./suites/acquire.ts";
import { clientFacts, processFacts } from "./suites/clients.ts";
import { closeFacts } from "./suites/close.ts";
import { concurrencyFacts } from "./suites/concurrency.ts";
import { connectionFacts } from "./suites/connections.ts";
import { expiryFacts } from "./suites/expiry.ts";
import { extendFacts } from "./suites/extend.ts";
import { fenceFacts } from "./suites/fence.ts";
import { floorFacts, floorOfferFacts, lastingFloorFacts, outageFloorFacts } from "./suites/floor.ts";
import { inspectFacts } from "./suites/inspect.ts";
import { lastingFacts } from "./suites/lasting.ts";
import { limitFacts } from "./suites/limits.ts";
import { malformedFacts } from "./suites/malformed.ts";
import { nameFacts } from "./suites/names.ts";
import { outageFacts } from "./suites/outages.ts";
import { rejoinFacts } from "./suites/rejoin.ts";
import { releaseFacts } from "./suites/release.ts";
import { scanFacts } from "./suites/scan.ts";
import { sharingFacts } from "./suites/sharing.ts";
import { sizeFacts } from "./suites/sizes.ts";
import { takeoverFacts } from "./suites/takeover.ts";
import { lastingTurnFacts, turnFacts } from "./suites/turns.ts";
import { waitingListFacts } from "./suites/waiting-lists.ts";
import { watchFacts } from "./suites/watch.ts";
import { type World, worldOf } from "./world/world.ts";

/** Which optional parts a subject offers. They decide which facts apply. */
export type Offers = Readonly<Record<SubjectPart, boolean>>;

/** Registers a step to run when a proof has ended, whether it passed or failed. */
export type CleanUp = (step: () => Promise<void>) => void;

/** A fact together with the creation of its world, which is not a part of the proof. */
export interface Proof extends Conditions {
  /** Creates the world, and returns the proof in it. */
  prepare(settings: Settings, cleanUp: CleanUp): Promise<() => Promise<void>>;
}

/** Facts under one heading of the report. */
export interface Topic {
  readonly title: string;
  readonly proofs: readonly Proof[];
  /** Whether the proofs wait for seconds. They start before all others, which fill this time. */
  readonly lasts?: boolean;
}

/** Returns the topics and facts that apply to a node with these offers and limits. */
export function topicsFor(offers: Offers, { cannot, only }: Pick<Settings, "cannot" | "only">): readonly Topic[] {
  const isMissing = (need: Need): boolean => cannot.has(need as Limit) || offers[need as SubjectPart] === false;
  const applies = ({ needs, statement }: Proof): boolean =>
    !needs.some(isMissing) && (only === undefined || only.has(statement));
  const instead = [...cannot].map(([limit, reason]) => topic(`instead of ${limit}: ${reason}`, limitFacts[limit]));
  return [...topics(!cannot.has("floor")), ...instead]
    .map((each) => ({ ...each, proofs: each.proofs.filter(applies) }))
    .filter(({ proofs }) => proofs.length > 0);
}

/**
 * Returns the fact with this statement regardless of its needs.
 *
 * @throws {TypeError} if there is none
 */
export function proofOf(statement: string): Proof {
  const all = [...topics(true), ...Object.values(limitFacts).map((facts) => topic("limits", facts))];
  const proof = all.flatMap(({ proofs }) => proofs).find((each) => each.statement === statement);
  if (proof === undefined) throw new TypeError(`the suite has no test "${statement}"`);
  return proof;
}

/** Returns all topics. `mustHaveFloor`: whether a node without a floor fails, as it declares no reason. */
function topics(mustHaveFloor: boolean): readonly Topic[] {
  return [
    topic("acquire", acquireFacts),
    topic("extend", extendFacts),
    topic("rejoin", rejoinFacts),
    topic("release", releaseFacts),
    topic("expiry", expiryFacts),
    topic("fence", fenceFacts),
    topic("takeover", takeoverFacts),
    topic("shared claims", sharingFacts),
    topic("floor and epoch", [...(mustHaveFloor ? floorOfferFacts : []), ...floorFacts]),
    topic("scan", scanFacts),
    topic("names and owners", nameFacts),
    topic("many resources and claims", sizeFacts),
    topic("malformed requests", malformedFacts),
    topic("two clients", clientFacts),
    topic("concurrency", concurrencyFacts),
    topic("another process", processFacts),
    topic("wake-ups", watchFacts),
    topic("waiting lists", [...waitingListFacts, ...turnFacts]),
    topic("inspection", inspectFacts),
    topic("closing", closeFacts),
    topic("outages", [...outageFacts, ...outageFloorFacts]),
    topic("connections", connectionFacts),
    {
      ...topic("lasting claims and counters", [...lastingFacts, ...lastingTurnFacts, ...lastingFloorFacts]),
      lasts: true,
    },
  ];
}

function topic(title: string, facts: readonly Fact[]): Topic {
  const proofs = facts.map(
    ({ prove, ...conditions }): Proof => ({
      ...conditions,
      async prepare(settings, cleanUp) {
        const world = await freshWorld(settings, cleanUp);
        return async () => {
          try {
            await prove(world);
          } catch (error) {
            throw withMistake(error, likelyMistake(conditions.statement));
          }
        };
      },
    }),
  );
  return { title, proofs };
}

async function freshWorld(settings: Settings, cleanUp: CleanUp): Promise<World> {
  const subject = await settings.create();
  let close = (): Promise<void> => subject.close();
  cleanUp(() => close());
  const world = worldOf(subject, settings);
  close = () => world.close();
  return world;
}
