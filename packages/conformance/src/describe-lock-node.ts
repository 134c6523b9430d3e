import { describe, test } from "vitest";
import type { Fact } from "./fact.ts";
import { redlockWorldOf } from "./redlock-world.ts";
import { parseOptions, type Settings } from "./settings.ts";
import type { DescribeLockNodeOptions } from "./subject.ts";
import { acquireFacts } from "./suites/acquire.ts";
import { clientFacts } from "./suites/clients.ts";
import { concurrencyFacts } from "./suites/concurrency.ts";
import { expiryFacts } from "./suites/expiry.ts";
import { extendFacts } from "./suites/extend.ts";
import { fenceFacts } from "./suites/fence.ts";
import { inspectFacts, noInspectFacts } from "./suites/inspect.ts";
import { limitFacts } from "./suites/limits.ts";
import { nameFacts } from "./suites/names.ts";
import { redlockFacts } from "./suites/redlock.ts";
import { rejoinFacts } from "./suites/rejoin.ts";
import { releaseFacts } from "./suites/release.ts";
import { takeoverFacts } from "./suites/takeover.ts";
import { noWatchFacts, watchFacts } from "./suites/watch.ts";
import { within } from "./within.ts";
import { type World, worldOf } from "./world.ts";

const serversOfRedlock = 5;

/**
 * Registers the tests that decide whether something is a lock node. Call it at the top level of a vitest file.
 *
 * @param name what the report calls the node
 * @param options how to make the node, and what its server cannot do
 * @throws {TypeError | RangeError} for bad options, before anything is made
 */
export function describeLockNode(name: string, options: DescribeLockNodeOptions): void {
  describeFacts(name, parseOptions(options), () => true);
}

/** The same for the statements that are wanted, as the suite's own tests look at one for each node that they break. */
export function describeFacts(name: string, settings: Settings, isWanted: (statement: string) => boolean): void {
  describe(name, async () => {
    const offers = await optionalMethods(settings);
    const topic = topicFor(settings, isWanted, (cleanUp) => freshWorld(settings, cleanUp));
    topic("acquire", acquireFacts);
    topic("extend", extendFacts);
    topic("rejoin", rejoinFacts);
    topic("release", releaseFacts);
    topic("expiry", expiryFacts);
    topic("fence", fenceFacts);
    topic("takeover", takeoverFacts);
    topic("names and owners", nameFacts);
    topic("two clients", clientFacts);
    topic("concurrency", concurrencyFacts);
    topic("wake-ups", offers.watch ? watchFacts : noWatchFacts);
    topic("inspection", offers.inspect ? inspectFacts : noInspectFacts);
    for (const [limit, reason] of settings.cannot) topic(`instead of ${limit}: ${reason}`, limitFacts[limit]);

    const redlockTopic = topicFor(settings, isWanted, async (cleanUp) => {
      const worlds = Array.from({ length: serversOfRedlock }, () => freshWorld(settings, cleanUp));
      return redlockWorldOf(await Promise.all(worlds), settings.patienceMs);
    });
    redlockTopic("Redlock over five nodes", redlockFacts);
  });
}

type CleanUp = (step: () => Promise<void>) => void;

/** Makes the function that registers a topic's facts, each with a fresh world that is cleaned up afterwards. */
function topicFor<W>(
  { cannot, patienceMs }: Settings,
  isWanted: (statement: string) => boolean,
  create: (cleanUp: CleanUp) => Promise<W>,
) {
  const hangGuardMs = 3 * patienceMs;
  return (title: string, facts: readonly Fact<W>[]): void => {
    const wanted = facts.filter(({ statement }) => isWanted(statement));
    // Vitest takes a describe without tests for a mistake.
    if (wanted.length === 0) return;
    describe(title, () => {
      for (const { statement, needs, prove } of wanted) {
        const missing = needs.find((limit) => cannot.has(limit));
        if (missing) test.skip(`${statement} (not here: ${cannot.get(missing)})`, () => {});
        else test(statement, async ({ onTestFinished }) => prove(await create(onTestFinished)), hangGuardMs);
      }
    });
  };
}

async function freshWorld(settings: Settings, cleanUp: CleanUp): Promise<World> {
  const subject = await settings.create();
  cleanUp(() => subject.close());
  return worldOf(subject, settings);
}

/** Which optional methods the node has decides which tests there are, so one subject is made before the tests. */
async function optionalMethods({ create, patienceMs }: Settings): Promise<{ watch: boolean; inspect: boolean }> {
  const subject = await within(patienceMs, "create()", create());
  try {
    return { watch: subject.node.watch !== undefined, inspect: subject.node.inspect !== undefined };
  } finally {
    await within(patienceMs, "close()", subject.close());
  }
}
