import { fuzzSeed, startRedisCluster, startRedisServer } from "@holdfast/testkit";
import fc from "fast-check";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { commonScript } from "../src/generated/common-script.ts";
import { lockScript } from "../src/generated/lock-script.ts";
import { anyHistory, differenceIn, historyCount, type Stage } from "./script-histories.ts";

async function stageOn(port: number, isCluster: boolean): Promise<Stage> {
  const [client, subscriber] = [new Redis(port), new Redis(port)];
  onTestFinished(() => {
    client.disconnect();
    subscriber.disconnect();
  });
  const lockSha = (await client.script("LOAD", lockScript.source)) as string;
  const commonSha = (await client.script("LOAD", commonScript.source)) as string;
  return { client, subscriber, lockSha, commonSha, isCluster };
}

describe("the lock script and the common script", { timeout: 120_000 }, () => {
  const start = {
    "a server": async () => {
      const server = await startRedisServer();
      onTestFinished(() => server.stop());
      return server.port;
    },
    "a cluster": async () => {
      const cluster = await startRedisCluster(1);
      onTestFinished(() => cluster.stop());
      return cluster.servers[0]?.port as number;
    },
  };

  test.each(Object.entries(start))("have the same effects, in one call or in several, on %s", async (name, start) => {
    const stage = await stageOn(await start(), name === "a cluster");
    await fc.assert(
      fc.asyncProperty(anyHistory, async (history) => {
        expect(await differenceIn(history, stage)).toBeUndefined();
      }),
      { numRuns: historyCount, seed: fuzzSeed },
    );
  });
});
