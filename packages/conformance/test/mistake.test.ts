import type { LockNode } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { describe, expect, test } from "vitest";
import { brokenNodes } from "../src/index.ts";
import { statementsWithMistake } from "../src/likely-mistakes.ts";
import { parseOptions } from "../src/settings.ts";
import type { LockNodeSubject } from "../src/subject.ts";
import { proofOf } from "../src/topics.ts";
import { bareNode } from "./correct-nodes.ts";
import { noOtherProcess, nothing, remoteSubject } from "./subjects.ts";

/** Runs a test of the suite, and returns its failure. */
async function failureOf(statement: string, create: () => Promise<LockNodeSubject>): Promise<Error> {
  const proof = proofOf(statement);
  if (proof === undefined) throw new Error(`no test "${statement}"`);
  const prove = await proof.prepare(parseOptions({ create, noOtherProcess }), () => {});
  return prove().then(
    () => new Error("it passed"),
    (error) => error,
  );
}

/** Runs the test that catches a published broken node, and returns its failure. */
async function failureWith(fault: string): Promise<Error> {
  const broken = brokenNodes.find((each) => each.fault === fault);
  if (broken === undefined) throw new Error(`no broken node that ${fault}`);
  return failureOf(broken.caughtBy, () => broken.create(() => remoteSubject()));
}

describe("a failed test", () => {
  const mistakes: readonly (readonly [fault: string, message: RegExp])[] = [
    ["cuts names at 1 024 characters", /^names are compared only up to 1024 characters/],
    ["cuts names at 4 095 bytes", /^names are compared only up to 4095 characters/],
    ["decodes percent escapes", /^"%41" is confused with another name: the node probably decodes percent escapes/],
    ["treats names as paths", /^"[^"]*" is confused with another name: the node probably treats names as paths/],
    [
      "claims only the first hundred resources of a call",
      /^only the first 100 of 300 resources of one call were claimed$/,
    ],
    ["releases only the first hundred resources of a call", /^only the first 100 of 300 resources .* were freed/],
    ["ends claims two percent early", /^claims end early: 2\.\d % of the ttl/],
    ["ends extended claims a few percent early", /^claims end early: 4\.\d % of the ttl that extend\(\) set/],
    ["evicts the oldest claim beyond a thousand", /^only the last \d+ of 40 calls .* claims are evicted/],
    ["forgets the oldest counter beyond a thousand", /counters are evicted when there are many$/],
    ["ends claims with the connection that made them", /^claims end with the connection that made them/],
    ["loses its latest change when the connection is lost", /^acquire\(\) replies before the commit is certain/],
    ["releases the claim of any owner", /^a release does not compare owners: /],
    ["ignores `shared`, and does not declare it", /declare that it ignores it with cannot: \{ sharing: reason \}/],
    ["keeps a floor and ignores it", /^a grant is below the floor/],
    ["serves clients of older epochs", /^the epoch of a request is not compared .*: acquire\(\) of epoch 1 granted/],
    ["scans the first portion only", /^scan\(\) misses claims or counters/],
    ["scans without an end", /^the series of portions does not end/],
    ["starts again when it does not know a cursor", /^scan\(\) accepts a cursor that it did not make/],
    ["never advances the counter for a shared claim", /^shared claims never advance the counter/],
    ["names waiters of shared requests first even after sharers", /^readers are named after readers/],
    ["ignores the hint", /^the hint is ignored, cut to 32 bits, or replaces a higher counter: /],
    ["forgets a counter two seconds after the release", /^a fence counter is lost some seconds after its claim/],
  ];
  test.each(mistakes)("names the likely mistake of a node that %s", async (fault, message) => {
    expect((await failureWith(fault)).message).toMatch(message);
  });

  test("tells what to do with a node that has no floor, and does not declare it", async () => {
    const create = () => remoteSubject(bareNode.makeFrom);
    const { message } = await failureOf("the node offers raiseFloor() and scan()", create);
    expect(message).toMatch(/must have raiseFloor\(\) and scan\(\), or declare .* cannot: \{ floor: reason \}/);
  });

  test.each(statementsWithMistake)("has a likely mistake for an existing statement: %s", (statement) => {
    expect(proofOf(statement)).toBeDefined();
  });

  test("has the error of the adapter as its cause, if that threw", async () => {
    const thrown = new Error("no such table");
    const node: LockNode = { ...memoryNode(), acquire: () => Promise.reject(thrown) };
    const create = async () => ({ node, rival: node, close: nothing });
    const error = await failureOf("acquire() grants a resource that was never claimed", create);
    expect(error.message).toBe("acquire() rejected, and a rejection is a failure, never a reply: Error: no such table");
    expect(error.cause).toBe(thrown);
  });
});
