import { fuzzSeed, startRedisCluster, startRedisServer } from "@holdfast/testkit";
import fc from "fast-check";
import { Redis } from "ioredis";
import { describe, expect, onTestFinished, test } from "vitest";
import { lockScriptSource } from "../src/lock-script.ts";
import { anyHistory, differenceIn, historyCount, type Stage } from "./script-histories.ts";

async function stageOn(port: number): Promise<Stage> {
  const [client, subscriber] = [new Redis(port), new Redis(port)];
  onTestFinished(() => {
    client.disconnect();
    subscriber.disconnect();
  });
  const sha = (await client.script("LOAD", lockScriptSource)) as string;
  return { client, subscriber, sha };
}

describe("the lock script", { timeout: 120_000 }, () => {
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

  test.each(Object.entries(start))(
    "has the same effects by its short path, its general path and single calls, on %s",
    async (_, start) => {
      const stage = await stageOn(await start());
      await fc.assert(
        fc.asyncProperty(anyHistory, async (history) => {
          expect(await differenceIn(history, stage)).toBeUndefined();
        }),
        { numRuns: historyCount, seed: fuzzSeed },
      );
    },
  );
});
