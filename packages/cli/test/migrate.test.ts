/**
 * Most tests change SQLite files: on a Redis server, each step reads thousands of counters. The tests of
 * docs/changing-servers.md use Redis, and the conformance suite raises the floors of all kinds of servers.
 */
import { rm } from "node:fs/promises";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";
import { nameOf, newFiles, withNode } from "./support/files.ts";
import { holdLock, lockOnce, runCli } from "./support/program.ts";

type Env = Readonly<Record<string, string>>;

/** The addresses of the servers of a change, and the environment of the clients of each stage. */
interface Change {
  readonly old: readonly string[];
  readonly new: readonly string[];
  readonly names: readonly string[];
  readonly oldEnv: Env;
  readonly jointEnv: Env;
  readonly newEnv: Env;
}

async function startServers(count: number): Promise<readonly RedisServer[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => startRedisServer()));
  onTestFinished(async () => void (await Promise.all(servers.map((server) => server.stop()))));
  return servers;
}

const addressesOf = (servers: readonly RedisServer[]): string[] => servers.map(({ port }) => `127.0.0.1:${port}`);
const newServers = async (count: number) => addressesOf(await startServers(count));

function changeOf(before: readonly string[], after: readonly string[]): Change {
  return {
    old: before,
    new: after,
    names: [...new Set([...before, ...after])].map(nameOf),
    oldEnv: { HOLDFAST_NODES: before.join(" ") },
    jointEnv: { HOLDFAST_OLD: before.join(" "), HOLDFAST_NEW: after.join(" ") },
    newEnv: { HOLDFAST_NODES: after.join(" "), HOLDFAST_GENERATION: "1" },
  };
}

/** Creates a change of servers, some of which are in both sets. */
async function newChange(kept: number, leaving: number, added: number, addresses = newFiles): Promise<Change> {
  const all = await addresses(kept + leaving + added);
  return changeOf(all.slice(0, kept + leaving), [...all.slice(0, kept), ...all.slice(kept + leaving)]);
}

/** Takes a step with shorter times than the defaults. */
async function step(name: string, { jointEnv }: Change, ...args: readonly string[]) {
  const times = ["--watch-for", "300ms", "--settle", "20s"];
  const outcome = await runCli(["migrate", name, ...times, ...args], { env: jointEnv });
  return { ...outcome, stage: /^the change is (\w+)/.exec(outcome.out)?.[1] };
}

const lock = (env: Env, ...args: readonly string[]) => lockOnce("x", env, "--wait", "1s", ...args);

const steps: readonly string[] = ["begin", "join", "end"];

test.each([
  ["one of three files", 2, 1, 1, newFiles],
  ["a Redis server to another", 0, 1, 1, newServers],
])(
  "migrate: changes %s, fences grow through all stages, and join refuses clients of the old set",
  async (_, kept, leaving, added, addresses) => {
    const change = await newChange(kept, leaving, added, addresses);
    const { oldEnv, jointEnv, newEnv } = change;
    const refusal = "does not serve clients of generation 0: it serves those of generation 0 with both sets";
    const clients = [oldEnv, jointEnv, newEnv, newEnv];
    const stages: unknown[] = [];
    const granted: number[] = [];
    for (const [index, env] of clients.entries()) {
      const locked = await lock(env);
      expect(locked).toEqual({ code: 0, err: "", fence: expect.any(Number) });
      granted.push(locked.fence as number);
      const name = steps[index];
      if (name === undefined) continue;
      const taken = await step(name, change);
      expect(taken.code).toBe(0);
      stages.push([taken.stage, /^.* new +(.*\S) +\d+$/m.exec(taken.out)?.[1]]);
      expect(await step(name, change)).toMatchObject({ code: 0, stage: taken.stage });
      if (name === "begin") {
        expect(await lock(oldEnv)).toMatchObject({ fence: expect.any(Number) });
        expect(await lock(newEnv)).toMatchObject({ code: 78 });
      } else if (name === "join") {
        const refused = await lock(oldEnv);
        expect(refused).toEqual({ code: 78, err: expect.stringContaining(refusal) });
        expect(refused.err).toContain("see holdfast migrate status, and --generation");
      }
    }
    expect(stages).toEqual([
      ["begun", "clients of generation 0 and of generation 0 with both sets"],
      ["joined", "clients of generation 0 with both sets and of generation 1"],
      ["ended", "clients of generation 1"],
    ]);
    expect(granted).toEqual([...granted].sort((a, b) => a - b));
    expect(await step("status", change)).toMatchObject({ code: 0, stage: "ended" });
  },
);

test("migrate: join lists the locks of clients of the old set, and changes nothing", async () => {
  const change = await newChange(0, 3, 3);
  await step("begin", change);
  const { owner, end } = await holdLock(["backup", "--label", "alice"], change.oldEnv);
  const args = ["migrate", "join", "--watch-for", "300ms", "--settle", "3s"];
  const listed = await runCli(args, { env: change.jointEnv });
  expect(await lock(change.oldEnv)).toMatchObject({ fence: expect.any(Number) });
  await end();
  expect(listed.code).toBe(1);
  expect(listed.out.split("\n")[0]).toMatch(/^resource +label +owner +clients +remaining +servers$/);
  expect(listed.out).toMatch(new RegExp(`^backup +alice +${owner} +generation 0 +\\d+s +\\S+\\.db`, "m"));
  expect(listed.err).toContain("waiting for locks of clients of an earlier stage: backup (alice)");
  expect(listed.err).toContain(
    "clients before generation 0 with both sets still lock: alice of generation 0 holds backup",
  );
  expect(listed.err).toMatch(/the change is begun: .* Nothing has to be undone: repeat holdfast migrate join\n$/);
});

test("migrate: says which step is missing", async () => {
  const change = await newChange(0, 1, 1);
  expect(await step("join", change)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^holdfast: could not join: .* has not begun\n {2}next: holdfast migrate begin/),
  });
  await step("begin", change);
  expect(await step("end", change)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^holdfast: could not end: .*\n {2}next: give all clients both sets: /),
  });
});

test("migrate: names the servers that failed, and exits with 69 if they are too many", async () => {
  const servers = await startServers(3);
  const change = changeOf(await newFiles(3), addressesOf(servers));
  await Promise.all(servers.slice(1).map((server) => server.kill()));
  const failed = await step("begin", change, "--node-timeout", "2s");
  expect(failed).toMatchObject({ code: 69, err: expect.stringContaining("1 of 3 new nodes") });
  for (const name of change.names.slice(4)) expect(failed.err.split(`ECONNREFUSED ${name}`)).toHaveLength(2);
  expect(failed.err).toMatch(/\n {2}Nothing has to be undone: repeat holdfast migrate begin\n$/);
});

test("migrate: status says that too few servers of the new set reply to tell the stage", async () => {
  const servers = await startServers(3);
  const change = changeOf(await newFiles(3), addressesOf(servers));
  await step("begin", change);
  await Promise.all(servers.slice(1).map((server) => server.kill()));
  const args = ["migrate", "status", "--node-timeout", "2s"];
  const { code, out } = await runCli(args, { env: change.jointEnv });
  expect({ code, first: out.split("\n")[0] }).toEqual({
    code: 69,
    first: "the stage of the change is unknown: too few of the new servers replied",
  });
  expect(out).toMatch(
    new RegExp(`^${change.names[0]} +old +clients of generation 0 and of generation 0 with both sets +0`, "m"),
  );
  expect(out).toMatch(new RegExp(`^${change.names[4]} +new +\\S`, "m"));
});

test("migrate: status says that most new servers have forgotten a change, and the steps refuse to begin it again", async () => {
  const change = await newChange(0, 3, 3);
  await step("begin", change);
  await step("join", change);
  const lost = change.new.slice(1);
  for (const address of lost) await rm(nameOf(address));
  const { code, out } = await runCli(["migrate", "status"], { env: change.jointEnv });
  expect({ code, lines: out.split("\n").slice(0, 3) }).toEqual({
    code: 69,
    lines: [
      "the stage of the change is unknown: most of the new servers do not know about it, though others refuse the clients before it",
      `  next: start ${lost.map(nameOf).join(" and ")} with their data again, or heal them if enough others are left`,
      "",
    ],
  });
  for (const name of steps) {
    const { code, err } = await step(name, change);
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/: start those that have lost their data with it again, or heal them$/m),
    });
  }
  expect(await lock(change.newEnv)).toMatchObject({ fence: expect.any(Number) });
});

test("migrate: status reports a join that ended before the floor was written", async () => {
  const change = await newChange(0, 3, 3);
  await step("begin", change);
  for (const address of change.old) {
    await withNode(address, (node) => node.raiseFloor({ floor: 0, epoch: 3, timeoutMs: 10_000 }));
  }
  const { code, out } = await runCli(["migrate", "status"], { env: change.jointEnv });
  expect({ code, lines: out.split("\n").slice(0, 3) }).toEqual({
    code: 0,
    lines: [
      expect.stringMatching(
        /^the change is begun: .*; clients without both sets are already refused by \S+\.db, .* and those with/,
      ),
      "  next: holdfast migrate join again: it was interrupted",
      "",
    ],
  });
  expect(await lock(change.oldEnv)).toMatchObject({ code: 78 });
  expect(await lock(change.jointEnv)).toMatchObject({ fence: expect.any(Number) });
  expect(await step("join", change)).toMatchObject({ code: 0, stage: "joined" });
});

test("migrate: takes a second change, with the generation after the first", async () => {
  const change = await newChange(0, 1, 1);
  for (const name of steps) expect(await step(name, change)).toMatchObject({ code: 0 });
  const back = changeOf(change.new, change.old);
  expect(await step("begin", back)).toMatchObject({
    code: 1,
    err: expect.stringContaining(
      "serves clients of generation 1: the clients before this change cannot be of generation 0",
    ),
  });
  for (const name of steps) {
    expect(await step(name, back, "--generation", "1")).toMatchObject({ code: 0 });
  }
  const { fence = 0 } = await lock(change.oldEnv, "--generation", "2");
  expect(fence).toBeGreaterThan(0);
});

test("inspect, list, verify, release and doctor use both sets with --old and --new", async () => {
  const change = await newChange(1, 2, 2);
  await step("begin", change);
  const args = [
    ...change.old.flatMap((address) => ["--old", address]),
    ...change.new.flatMap((address) => ["--new", address]),
  ];
  const { owner, end } = await holdLock(["x", ...args], {});
  expect(owner).toMatch(/\.3$/);
  const { fence, nodes } = JSON.parse((await runCli(["inspect", "x", "--json", ...args])).out);
  expect(nodes.map(({ node }: { node: string }) => node)).toEqual(change.names);
  expect(await runCli(["verify", "x", owner, String(fence), ...args])).toMatchObject({ code: 0 });
  const listed = await runCli(["list", ...args]);
  expect(listed).toMatchObject({ code: 0, out: expect.stringMatching(/^x .* 5 of 5$/m) });
  const report = await runCli(["doctor", "--require", "efficiency", "--ttl", "10m", "--json", ...args]);
  const { ok, joint, mayFail, quorum } = JSON.parse(report.out);
  expect({ ok, joint, mayFail, quorum }).toEqual({
    ...{ ok: true, joint: { old: [0, 1, 2], new: [0, 3, 4] }, mayFail: 1, quorum: 4 },
  });
  const released = await runCli(["release", "x", "--owner", owner, ...args]);
  expect(released).toMatchObject({ code: 0 });
  expect(released.out.match(/ released$/gm)).toHaveLength(5);
  await end();
});
