import { createHash } from "node:crypto";
import { type BrokenNode, describeBrokenNodes, type LockNodeSubject } from "@holdfast/conformance";
import { startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { afterAll, expect, test } from "vitest";
import { brokenNodeTable } from "../../conformance/test/broken-node-table.ts";
import { type RedisConnection, type RedisNode, redisNode } from "../src/index.ts";
import { scriptSource } from "../src/script.ts";
import { connectionOver } from "./connection.ts";
import { acquireRequest, extendRequest, releaseRequest } from "./requests.ts";
import { type ScriptMistake, scriptMistakes } from "./script-mistakes.ts";

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

/** A script that cannot run would fail every test, and show nothing. */
async function expectWorkingScript(node: RedisNode): Promise<void> {
  const resources = ["at first sight"];
  expect(await node.acquire(acquireRequest("alice", { resources }))).toMatchObject({ granted: true });
  await node.extend(extendRequest("alice", { resources }));
  await node.extend(extendRequest("bob", { resources, rejoin: true }));
  await node.inspect("at first sight");
  await node.release(releaseRequest("alice", resources));
  await node.extend(extendRequest("bob", { resources, rejoin: true }));
}

/** The script with the mistake in it. */
function edited({ mistake, edit: [from, to] }: Pick<ScriptMistake, "mistake" | "edit">): string {
  const source = scriptSource.replace(from, () => to);
  if (source === scriptSource) throw new Error(`no script ${mistake}: it does not contain "${from}"`);
  return source;
}

/** Has another script sent in the place of the right one. */
function withScript(source: string): Wrap {
  const sha = createHash("sha1").update(source).digest("hex");
  return (connection) => ({
    ...connection,
    runScript: (command, _, call) => connection.runScript(command, command === "EVAL" ? source : sha, call),
  });
}

let lastLook: Promise<string | null> = Promise.resolve(null);

/**
 * Looks who holds the resource in one call, and claims it in another that does not look again: not before all have looked
 * who began to meanwhile, so that it is certain that several find it free.
 */
function inTwoSteps(connection: RedisConnection): RedisConnection {
  const edit = ["leftMs then return", "false then return"] as const;
  const blind = withScript(edited({ mistake: "claims blindly", edit }))(connection);
  return {
    ...connection,
    async runScript(command, script, call) {
      const words = call.keysAndArguments().map(String);
      const [steps, ticket, , , owner] = words.slice(call.keyCount);
      const claims = /^t(a+)$/.exec(steps ?? "")?.[1];
      if (claims === undefined) return connection.runScript(command, script, call);
      const look = client.get(call.firstKey);
      lastLook = look;
      const holder = await look;
      await lastLook;
      if (holder !== null && holder !== owner) return [ticket, ...[...claims].flatMap(() => [0, 1])];
      return blind.runScript(command, script, call);
    },
  };
}

const brokenNodes: readonly BrokenNode[] = [
  ...scriptMistakes.map((each) => ({
    fault: each.mistake,
    caughtBy: each.caughtBy,
    create: () => subjectOver(withScript(edited(each))),
  })),
  {
    fault: "looks who holds the resource in one call, and claims it in another",
    caughtBy: "acquire() grants exactly one of 100 claims sent at once, round after round",
    create: () => subjectOver(inTwoSteps),
  },
];

describeBrokenNodes("the lock script on a real server", {
  create: () => subjectOver(),
  noServer: "outages are not what a script can get wrong",
  brokenNodes,
});

test("broken scripts are listed in docs/broken-lock-scripts.md (vitest -u writes the page)", async () => {
  const heading = `# Broken lock scripts that the conformance suite catches

Each one is the script of \`@holdfast/redis\` with one fault edited into its text, run on a real server. The test beside
it passes for the correct script and must fail for the broken one. \`script-mistakes.test.ts\` generates this page: do not
edit it by hand.`;
  await expect(brokenNodeTable(brokenNodes, heading)).toMatchFileSnapshot("../../../docs/broken-lock-scripts.md");
});
