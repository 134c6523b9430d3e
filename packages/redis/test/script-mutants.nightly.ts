import { createHash } from "node:crypto";
import { type BrokenNode, describeBrokenNodes, type LockNodeSubject } from "@holdfast/conformance";
import { acquireRequest, extendRequest, longMs, releaseRequest } from "@holdfast/redis-testkit/requests";
import { fuzzSeed, startRedisServer } from "@holdfast/testkit";
import type { LuaEdit } from "@holdfast/testkit/lua";
import fc from "fast-check";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commonScript } from "../src/generated/common-script.ts";
import { type RedisConnection, type RedisNode, redisNode } from "../src/index.ts";
import { connectionOver } from "./connection.ts";
import { editedScripts } from "./edited-scripts.ts";
import { anyHistory, differenceIn } from "./script-histories.ts";
import { histories, scriptMutants, twoSteps } from "./script-mutants.ts";

const server = await startRedisServer();
const [client, rivalClient] = [0, 1].map(() => new Redis(server.port, { lazyConnect: true })) as [Redis, Redis];
await Promise.all([client.connect(), rivalClient.connect()]);
afterAll(async () => {
  for (const each of [client, rivalClient]) each.disconnect();
  await server.stop();
});

type Wrap = (connection: RedisConnection) => RedisConnection;

let prefixes = 0;

async function subjectOver(wrap: Wrap = (connection) => connection): Promise<LockNodeSubject> {
  prefixes += 1;
  const options = { prefix: `test ${prefixes}:`, wakeUps: false, verifyServer: false };
  const node = redisNode(wrap(connectionOver(client)), options);
  const rival = redisNode(wrap(connectionOver(rivalClient)), options);
  await expectWorkingScript(node);
  return { node, rival, close: async () => {} };
}

/** Checks that the scripts run: one with a syntax error would fail every test and prove nothing. */
async function expectWorkingScript(node: RedisNode): Promise<void> {
  const resources = ["at first sight"];
  expect(await node.acquire(acquireRequest("alice", { resources }))).toMatchObject({ granted: true });
  await node.extend(extendRequest("alice", { resources }));
  await node.extend(extendRequest("bob", { resources, rejoin: true }));
  await node.inspect("at first sight");
  await node.release(releaseRequest("alice", resources));
  await node.extend(extendRequest("bob", { resources, rejoin: true }));
  await node.scan({ timeoutMs: longMs });
}

/** Returns a connection that sends each script with the faults. */
function withEdits(edits: readonly LuaEdit[]): Wrap {
  const faulty = new Map<string, string>();
  for (const { script, faulty: source } of editedScripts(edits)) {
    faulty.set(script.source, source);
    faulty.set(script.sha, createHash("sha1").update(source).digest("hex"));
  }
  return (connection) => ({
    ...connection,
    runScript: (command, script, call) => connection.runScript(command, faulty.get(script) ?? script, call),
  });
}

let lastLook: Promise<string | null> = Promise.resolve(null);

/**
 * Checks the holder in one call, and claims in another without checking again. The claim waits for all concurrent checks,
 * so that several clients are certain to find the resource free.
 */
function inTwoSteps(connection: RedisConnection): RedisConnection {
  const blind = withEdits(twoSteps.edits)(connection);
  return {
    ...connection,
    async runScript(command, script, call) {
      const words = call.keysAndArguments().map(String);
      const [callId, letters = "", owner] = words.slice(call.keyCount);
      const isCommon = script === commonScript.sha || script === commonScript.source;
      if (!isCommon || !/^a+$/.test(letters)) return connection.runScript(command, script, call);
      const look = client.get(call.firstKey);
      lastLook = look;
      const holder = await look;
      await lastLook;
      if (holder !== null && holder !== owner) return [callId, ...[...letters].map(() => ["denied", 1, 1])];
      return blind.runScript(command, script, call);
    },
  };
}

const brokenNodes: readonly BrokenNode[] = scriptMutants
  .filter(({ statement }) => statement !== histories)
  .map(({ fault, statement, edits }) => ({ fault, caughtBy: statement, create: () => subjectOver(withEdits(edits)) }));

describeBrokenNodes("the lock script on a real server", {
  create: () => subjectOver(),
  noServer: "outages are not what a script can get wrong",
  noOtherProcess: "the process of a client is not what a script can get wrong",
  brokenNodes: [
    ...brokenNodes,
    { fault: twoSteps.fault, caughtBy: twoSteps.statement, create: () => subjectOver(inTwoSteps) },
  ],
});

describe("random histories", () => {
  const subscriber = new Redis(server.port, { lazyConnect: true });
  beforeAll(() => subscriber.connect());
  afterAll(() => subscriber.disconnect());

  test.each(scriptMutants.filter(({ statement }) => statement === histories))(
    "catch a script that $fault",
    async ({ edits }) => {
      const stage = { client, subscriber, wrap: withEdits(edits), isCluster: false };
      let difference: string | undefined;
      const outcome = await fc.check(
        fc.asyncProperty(anyHistory, async (history) => {
          difference = await differenceIn(history, stage);
          return difference === undefined;
        }),
        { numRuns: 2_000, seed: fuzzSeed, endOnFailure: true },
      );
      expect(outcome.failed).toBe(true);

      // A script with a syntax error would also differ.
      expect(difference).toMatch(/ in general, (common|batch) /);
      expect(difference).not.toMatch(/attempt to|user_script/);
    },
  );
});
