import { fuzzSeed } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clientOf, clusterOfOne, serverForTest } from "./connection.ts";
import { anyHistory, differenceIn, historyCount } from "./script-histories.ts";

describe("the lock script and the common script", () => {
  test.each([
    ["a server", async () => clientOf(await serverForTest())],
    ["a cluster", clusterOfOne],
  ])("have the same effects, in one call or in several, on %s", async (name, connect) => {
    const client = await connect();
    const subscriber = await clientOf({ port: client.options.port as number });
    const stage = { client, subscriber, isCluster: name === "a cluster" };
    await fc.assert(
      fc.asyncProperty(anyHistory, async (history) => {
        expect(await differenceIn(history, stage)).toBeUndefined();
      }),
      { numRuns: historyCount, seed: fuzzSeed },
    );
  });
});
