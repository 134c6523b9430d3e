import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { type BrokenNode, describeBrokenNodes, type LockNodeSubject } from "@holdfast/conformance";
import { acquireRequest, extendRequest, releaseRequest } from "@holdfast/redis-testkit/requests";
import { fuzzSeed, startRedisServer } from "@holdfast/testkit";
import { compactLua, joinLua, type LuaEdit } from "@holdfast/testkit/lua";
import fc from "fast-check";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RedisConnection, type RedisNode, redisNode } from "../src/index.ts";
import { lockScriptSha, lockScriptSource } from "../src/lock-script.ts";
import { connectionOver } from "./connection.ts";
import { anyHistory, differenceIn, historyCount } from "./script-histories.ts";
import { blindClaims, nodeMutants, pathMutants, sharingMutants } from "./script-mutants.ts";

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

/** Checks that the script runs: one with a syntax error would fail every test and prove nothing. */
async function expectWorkingScript(node: RedisNode): Promise<void> {
  const resources = ["at first sight"];
  expect(await node.acquire(acquireRequest("alice", { resources }))).toMatchObject({ granted: true });
  await node.extend(extendRequest("alice", { resources }));
  await node.extend(extendRequest("bob", { resources, rejoin: true }));
  await node.inspect("at first sight");
  await node.release(releaseRequest("alice", resources));
  await node.extend(extendRequest("bob", { resources, rejoin: true }));
}

const mainFile = fileURLToPath(new URL("../src/lua/lock.lua", import.meta.url));

/** Returns the script with a fault edited into it. */
function edited(edits: readonly LuaEdit[]): string {
  return compactLua(joinLua(mainFile, edits));
}

/** Returns a connection that sends another script instead of the right one. */
function withScript(source: string): Wrap {
  const sha = createHash("sha1").update(source).digest("hex");
  return (connection) => ({
    ...connection,
    runScript(command, script, call) {
      const isLockScript = script === lockScriptSha || script === lockScriptSource;
      const other = command === "EVAL" ? source : sha;
      return connection.runScript(command, isLockScript ? other : script, call);
    },
  });
}

let lastLook: Promise<string | null> = Promise.resolve(null);

/**
 * Checks the holder in one call, and claims in another without checking again. The claim waits for all concurrent checks,
 * so that several clients are certain to find the resource free.
 */
function inTwoSteps(connection: RedisConnection): RedisConnection {
  const blind = withScript(edited(blindClaims))(connection);
  return {
    ...connection,
    async runScript(command, script, call) {
      const words = call.keysAndArguments().map(String);
      const [callId, marks = "", , , ...records] = words.slice(call.keyCount);
      // The short form of an acquire: its name, the owner and four other fields.
      const areClaims = records.every((word, index) => index % 6 !== 0 || word === "acquire-one");
      if (!areClaims) return connection.runScript(command, script, call);
      const look = client.get(call.firstKey);
      lastLook = look;
      const holder = await look;
      await lastLook;
      const [, owner] = records;
      if (holder !== null && holder !== owner) return [callId, ...[...marks].map(() => ["denied", 1, 1])];
      return blind.runScript(command, script, call);
    },
  };
}

const brokenNodes: readonly BrokenNode[] = [
  ...[...nodeMutants, ...sharingMutants].map(({ fault, caughtBy, edits }) => ({
    fault,
    caughtBy,
    create: () => subjectOver(withScript(edited(edits))),
  })),
  {
    fault: "looks who holds the resource in one call, and claims it in another",
    caughtBy: "acquire() grants exactly one of 100 claims sent at once, in every round",
    create: () => subjectOver(inTwoSteps),
  },
];

describeBrokenNodes("the lock script on a real server", {
  create: () => subjectOver(),
  noServer: "outages are not what a script can get wrong",
  noOtherProcess: "the process of a client is not what a script can get wrong",
  brokenNodes,
});

describe("random histories", () => {
  const subscriber = new Redis(server.port, { lazyConnect: true });
  beforeAll(() => subscriber.connect());
  afterAll(() => subscriber.disconnect());

  test.each(pathMutants)("catch a script that $fault", async ({ edits }) => {
    const sha = (await client.script("LOAD", edited(edits))) as string;
    let difference: string | undefined;
    const outcome = await fc.check(
      fc.asyncProperty(anyHistory, async (history) => {
        difference = await differenceIn(history, { client, subscriber, sha });
        return difference === undefined;
      }),
      { numRuns: 4 * historyCount, seed: fuzzSeed, endOnFailure: true },
    );
    expect(outcome.failed).toBe(true);

    // A script with a syntax error would also differ.
    expect(difference).toMatch(/ in general, (short|alone) /);
    expect(difference).not.toMatch(/attempt to|user_script/);
  });
});

test("broken scripts are listed in docs/generated/broken-lock-scripts.md (vitest -u writes the page)", async () => {
  const heading = `# Broken lock scripts that tests catch

Each one is the script of \`@holdfast/redis\` with one fault edited into its Lua files, run on a real server. The test beside it
passes for the correct script and must fail for the broken one: a test of the conformance suite, or the comparison of random
histories, which the short and the general path of the script, and calls of single operations, must play alike.
\`script-mutants.test.ts\` generates this page: do not edit it by hand.`;
  const shownByHistories = pathMutants.map(({ fault }) => ({ fault, caughtBy: "the comparison of random histories" }));
  const rows = [...brokenNodes, ...shownByHistories].map(
    ({ fault, caughtBy }) => `| A node that ${fault} | ${caughtBy} |`,
  );
  const page = [heading, "", "| broken node | caught by |", "| --- | --- |", ...rows, ""].join("\n");
  await expect(page).toMatchFileSnapshot("../../../docs/generated/broken-lock-scripts.md");
});
