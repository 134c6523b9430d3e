import { afterAll, beforeAll, describe, test } from "vitest";
import { mistakeBehind } from "./mistake.ts";
import { offersOf } from "./offers.ts";
import { writeReport } from "./report.ts";
import { hangGuardMs, parseOptions, type Settings } from "./settings.ts";
import type { DescribeLockNodeOptions } from "./subject.ts";
import { type Proof, proofOf, type Topic, topicsFor } from "./topics.ts";
import { assertNoneFailed, type Result } from "./verdict.ts";

/**
 * Registers the conformance tests for a lock node. Call it at the top level of a vitest file.
 *
 * If the environment variable `HOLDFAST_CONFORMANCE_REPORT` names a folder, the results are also written there, as a
 * Markdown page named after the node.
 *
 * @param name the name of the node in the report
 * @param options how to create subjects, and what their server cannot do
 * @throws {TypeError | RangeError} for invalid options, before any subject is created
 *
 * @example
 * ```ts
 * import { describeLockNode } from "@holdfast/conformance";
 * import { memoryNode } from "@holdfast/memory";
 *
 * describeLockNode("my node", {
 *   create: async () => {
 *     const node = memoryNode();
 *     return { node, rival: node, close: async () => {} };
 *   },
 *   noServer: "it keeps its claims in this process",
 *   noOtherProcess: "it keeps its claims in this process",
 * });
 * ```
 */
export function describeLockNode(name: string, options: DescribeLockNodeOptions): void {
  const settings = parseOptions(options);
  for (const statement of settings.only ?? []) proofOf(statement); // throws for an unknown one
  describe(name, async () => {
    const offers = await offersOf(settings);
    const topics = topicsFor(offers, settings);
    const all = topicsFor(offers, { ...settings, only: undefined });
    const results: { title: string; results: readonly Result[] }[] = [];
    // Registered first, so that it runs last: it prevents later hooks if it fails.
    afterAll(() => {
      assertNoneFailed(
        name,
        results.flatMap((topic) => topic.results),
      );
    });
    // Registered here, so that it runs before the tests of all topics.
    const begun = topics.map((topic) => {
      const start = (proof: Proof): Proof => (topic.lasts ? startedEarly(proof, settings) : proof);
      return { ...topic, proofs: topic.proofs.map(start) };
    });
    for (const topic of begun) results.push({ title: topic.title, results: registerTopic(topic, settings) });
    afterAll(() => settings.processes.close());
    const unselected = countOf(all) - countOf(topics);
    afterAll(() => writeReport({ name, offers, settings, topics: results, unselected }));
  });
}

function countOf(topics: readonly Topic[]): number {
  return topics.reduce((sum, { proofs }) => sum + proofs.length, 0);
}

function registerTopic({ title, proofs }: Topic, settings: Settings): readonly Result[] {
  const results: Result[] = [];
  describe(title, () => {
    for (const proof of proofs) results.push(registerProof(proof, settings));
  });
  return results;
}

/** Starts a proof before all tests, which fill its time. Its own test waits for the end. */
function startedEarly(proof: Proof, settings: Settings): Proof {
  const cleanUps: (() => Promise<void>)[] = [];
  const cleanAll = async (): Promise<void> => {
    for (const step of cleanUps.splice(0)) await step();
  };
  let proven = Promise.reject<void>(new Error("the proof was not started"));
  proven.catch(() => {});
  beforeAll(() => {
    proven = proof.prepare(settings, (step) => void cleanUps.push(step)).then((prove) => prove());
    proven.catch(() => {}); // its test reports a failure
  });
  afterAll(cleanAll);
  return {
    ...proof,
    async prepare(_, cleanUp) {
      cleanUp(cleanAll);
      return () => proven;
    },
  };
}

/** Registers one test. Its result is the runner's, which counts a timeout or a failed clean-up as a failure. */
function registerProof({ statement, prepare }: Proof, settings: Settings): Result {
  let state = (): string | undefined => undefined;
  let mistake: string | undefined;
  test(
    statement,
    async ({ task, onTestFinished }) => {
      state = () => task.result?.state;
      const prove = await prepare(settings, onTestFinished);
      await prove().catch((error) => {
        mistake = mistakeBehind(error);
        throw error;
      });
    },
    hangGuardMs(settings),
  );
  const outcomes: Readonly<Record<string, ReturnType<Result["outcome"]>>> = { pass: "passed", fail: "failed" };
  return { statement, outcome: () => outcomes[state() ?? ""] ?? "not run", mistake: () => mistake };
}
