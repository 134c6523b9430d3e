import type { Floor } from "@holdfast/core";
import { ioredisNode } from "@holdfast/ioredis";
import { lockNames } from "@holdfast/redis";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { runCli, startAtTerminal, startCli } from "./support/program.ts";

type Env = Readonly<Record<string, string>>;

/** The servers of a change, and the environment of the clients of each stage. */
interface Change {
  readonly old: readonly RedisServer[];
  readonly new: readonly RedisServer[];
  readonly names: readonly string[];
  readonly oldEnv: Env;
  readonly jointEnv: Env;
  readonly newEnv: Env;
}

const urls = (servers: readonly RedisServer[]): string => servers.map(({ port }) => `127.0.0.1:${port}`).join(" ");

/** Starts servers before and after a change; some of them are in both sets. */
async function startChange(kept: number, leaving: number, added: number): Promise<Change> {
  const all = await Promise.all(Array.from({ length: kept + leaving + added }, () => startRedisServer()));
  onTestFinished(async () => void (await Promise.all(all.map((server) => server.stop()))));
  const [before, after] = [all.slice(0, kept + leaving), [...all.slice(0, kept), ...all.slice(kept + leaving)]];
  return {
    old: before,
    new: after,
    names: all.map(({ port }) => `127.0.0.1:${port}`),
    oldEnv: { HOLDFAST_NODES: urls(before) },
    jointEnv: { HOLDFAST_OLD: urls(before), HOLDFAST_NEW: urls(after) },
    newEnv: { HOLDFAST_NODES: urls(after), HOLDFAST_EPOCH: "5" },
  };
}

/** Raises the floor and the epoch of a server. */
async function raise({ port }: RedisServer, least: Floor): Promise<void> {
  const client = new Redis(port);
  await client.ping();
  await ioredisNode(client, { wakeUps: false }).raiseFloor({ ...least, timeoutMs: 10_000 });
  client.disconnect();
}

/** Takes a step with shorter times than the defaults, and returns its JSON. */
async function step(name: string, { jointEnv }: Change, ...args: readonly string[]) {
  const times = ["--watch-for", "300ms", "--settle", "20s"];
  const { code, out, err } = await runCli(["migrate", name, "--json", ...times, ...args], { env: jointEnv });
  return { code, err, ...(out === "" ? {} : JSON.parse(out)) };
}

/** Locks and releases; returns the fence, or the exit code and the message if that fails. */
async function lock(env: Env, ...args: readonly string[]) {
  const words = ["run", "x", "--wait", "1s", ...args, "--", "sh", "-c", "echo $HOLDFAST_FENCE"];
  const { code, out, err } = await runCli(words, { env });
  return code === 0 ? { fence: Number(out) } : { code, err };
}

/** Holds a lock until it is ended. */
async function hold(resource: string, env: Env, ...args: readonly string[]) {
  const holder = startCli(["run", resource, ...args, "--", "sh", "-c", "echo $HOLDFAST_OWNER; read line"], { env });
  await holder.prints("\n");
  const end = () => {
    holder.write("\n");
    return holder.ended;
  };
  return { owner: holder.out().trim(), end };
}

const steps: readonly string[] = ["begin", "join", "end"];

test.each([
  ["three servers to three others", 0, 3, 3],
  ["three servers to five", 3, 0, 2],
  ["one of three servers", 2, 1, 1],
])("migrate: changes %s, and fences grow through all stages", async (_, kept, leaving, added) => {
  const change = await startChange(kept, leaving, added);
  const { oldEnv, jointEnv, newEnv } = change;
  const clients = [oldEnv, jointEnv, newEnv, newEnv];
  const stages: unknown[] = [];
  const granted: number[] = [];
  for (const [index, env] of clients.entries()) {
    const locked = await lock(env);
    expect(locked).toEqual({ fence: expect.any(Number) });
    granted.push(locked.fence as number);
    const name = steps[index];
    if (name === undefined) continue;
    const taken = await step(name, change);
    expect(taken).toMatchObject({ code: 0, epoch: 1 });
    stages.push([taken.stage, taken.epochs]);
    expect(await step(name, change)).toMatchObject({ code: 0, stage: taken.stage });
    if (name !== "begin") continue;
    expect(await lock(oldEnv)).toMatchObject({ fence: expect.any(Number) });
    expect(await lock(newEnv)).toMatchObject({ code: 78 });
  }
  expect(stages).toEqual([
    ["begun", [1, 3]],
    ["joined", [3, 5]],
    ["ended", [5, 7]],
  ]);
  expect(granted).toEqual([...granted].sort((a, b) => a - b));
  expect(await step("status", change)).toMatchObject({ code: 0, stage: "ended" });
});

test("migrate: join refuses clients of the old set, and says so to them", async () => {
  const change = await startChange(0, 3, 3);
  await step("begin", change);
  await step("join", change);
  const refused = await lock(change.oldEnv);
  expect(refused).toEqual({
    code: 78,
    err: expect.stringContaining("does not serve clients of epoch 1: it is at epoch 3"),
  });
  expect(refused.err).toContain("see holdfast migrate status, and --epoch");
});

test("migrate: join writes a floor above the tokens of the old set, which later locks are above", async () => {
  const change = await startChange(0, 3, 3);
  const far = Date.now() * 1_000 + 3_600e6; // an hour ahead of the clocks
  for (const server of change.old.slice(1)) {
    await server.command("SET", lockNames("lock:", "x").fence, far);
  }
  await step("begin", change);
  const { nodes } = await step("join", change);
  const floors = nodes.filter(({ sets }: { sets: string[] }) => sets.includes("new"));
  expect(floors.map(({ floor }: { floor: number }) => floor)).toEqual([far + 1, far + 1, far + 1]);
  const { fence = 0 } = await lock(change.newEnv);
  expect(fence).toBeGreaterThan(far);
});

test("migrate: join lists the locks of clients of the old set, and changes nothing", async () => {
  const change = await startChange(0, 3, 3);
  await step("begin", change);
  const { owner, end } = await hold("backup", change.oldEnv, "--label", "alice");
  const args = ["migrate", "join", "--watch-for", "300ms", "--settle", "3s"];
  const listed = await runCli(args, { env: change.jointEnv });
  const json = await runCli([...args, "--json"], { env: change.jointEnv });
  expect(await lock(change.oldEnv)).toMatchObject({ fence: expect.any(Number) });
  await end();
  expect(listed.code).toBe(1);
  expect(listed.out.split("\n")[0]).toMatch(/^resource +label +owner +epoch +remaining +servers$/);
  expect(listed.out).toMatch(new RegExp(`^backup +alice +${owner} +1 +\\d+s +127`, "m"));
  expect(listed.err).toContain("waiting for locks of clients of an earlier stage: backup (alice)");
  expect(listed.err).toContain("clients of epochs below 3 still lock: alice of epoch 1 holds backup");
  expect(listed.err).toMatch(/the change is begun: .* Nothing has to be undone: repeat holdfast migrate join\n$/);
  expect(JSON.parse(json.out)).toEqual({
    error: expect.stringContaining("clients of epochs below 3 still lock"),
    claims: [
      {
        ...{ resource: "backup", owner, label: "alice", epoch: 1, remainingMs: expect.any(Number) },
        nodes: expect.arrayContaining([change.names[0]]),
      },
    ],
  });
});

test("migrate: a lock of the old set that is held during the change keeps joint clients out", async () => {
  const change = await startChange(0, 3, 3);
  await step("begin", change);
  const { end } = await hold("x", change.oldEnv);
  expect(await lock(change.jointEnv)).toMatchObject({ code: 75 });
  await end();
  const joint = await hold("x", change.jointEnv);
  expect(await lock(change.oldEnv)).toMatchObject({ code: 75 });
  expect(await lock({ HOLDFAST_NODES: change.newEnv.HOLDFAST_NODES ?? "" })).toMatchObject({ code: 75 });
  await joint.end();
});

test("migrate: says which step is missing", async () => {
  const change = await startChange(0, 1, 1);
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
  const change = await startChange(0, 3, 3);
  await Promise.all(change.new.slice(1).map((server) => server.kill()));
  const failed = await step("begin", change, "--node-timeout", "2s");
  expect(failed).toMatchObject({ code: 69, error: expect.stringContaining("1 of 3 new nodes") });
  for (const name of change.names.slice(4)) expect(failed.err).toContain(`${name}: `);
  expect(failed.err).toMatch(/\n {2}Nothing has to be undone: repeat holdfast migrate begin\n$/);
});

test("migrate: status says that too few servers of the new set reply to tell the stage", async () => {
  const change = await startChange(0, 3, 3);
  await step("begin", change);
  await Promise.all(change.new.slice(1).map((server) => server.kill()));
  const args = ["migrate", "status", "--node-timeout", "2s"];
  const { code, out } = await runCli(args, { env: change.jointEnv });
  expect({ code, first: out.split("\n")[0] }).toEqual({
    code: 69,
    first: "how far the change is cannot be told: too few of the new servers replied",
  });
  expect(out).toMatch(new RegExp(`^${change.names[0]} +old +2 +0`, "m"));
  expect(out).toMatch(new RegExp(`^${change.names[4]} +new +\\S`, "m"));
  const json = await runCli([...args, "--json"], { env: change.jointEnv });
  expect({ code: json.code, ...JSON.parse(json.out) }).toMatchObject({ code: 69, stage: null, epochs: null });
});

test("migrate: status reports a join that ended before the floor was written", async () => {
  const change = await startChange(0, 3, 3);
  await step("begin", change);
  await Promise.all(change.old.map((server) => raise(server, { floor: 0, epoch: 3 })));
  const { code, out } = await runCli(["migrate", "status"], { env: change.jointEnv });
  expect({ code, lines: out.split("\n").slice(0, 3) }).toEqual({
    code: 0,
    lines: [
      expect.stringMatching(
        /^the change is begun: .*; clients of epoch 1 are already refused by 127.* and joint ones go/,
      ),
      "  next: holdfast migrate join again: it has not ended",
      "",
    ],
  });
  expect(await lock(change.oldEnv)).toMatchObject({ code: 78 });
  expect(await lock(change.jointEnv)).toMatchObject({ fence: expect.any(Number) });
  expect(await step("join", change)).toMatchObject({ code: 0, stage: "joined" });
});

test("migrate: begin refuses an epoch that the servers do not serve yet, and clients go on", async () => {
  const change = await startChange(0, 1, 1);
  for (const name of steps) await step(name, change);
  const next = { ...change, jointEnv: { HOLDFAST_OLD: urls(change.new), HOLDFAST_NEW: urls(change.old) } };
  expect(await step("begin", next, "--epoch", "9")).toMatchObject({
    code: 1,
    error: expect.stringContaining("at epoch 5: the clients before this change cannot all have epoch 9"),
  });
  expect(await lock(change.newEnv)).toMatchObject({ fence: expect.any(Number) });
});

test("migrate: ends at Ctrl-C while it watches, and can be repeated", async () => {
  const change = await startChange(0, 1, 1);
  await step("begin", change);
  const joining = startAtTerminal(["migrate", "join"], { env: change.jointEnv });
  await joining.prints("until it is certain");
  joining.write("\u0003");
  const { code, out } = await joining.ended;
  expect({ code, out }).toEqual({ code: 130, out: expect.stringContaining("Repeat holdfast migrate join") });
  expect(await step("join", change)).toMatchObject({ code: 0, stage: "joined" });
});

test("migrate: takes a second change, with the epochs after the first", async () => {
  const change = await startChange(0, 1, 1);
  for (const name of steps) expect(await step(name, change)).toMatchObject({ code: 0 });
  const back = { ...change, jointEnv: { HOLDFAST_OLD: urls(change.new), HOLDFAST_NEW: urls(change.old) } };
  expect(await step("begin", back)).toMatchObject({ code: 1, error: expect.stringContaining("epoch") });
  for (const name of steps) expect(await step(name, back, "--epoch", "5")).toMatchObject({ code: 0, epoch: 5 });
  const { fence = 0 } = await lock({ HOLDFAST_NODES: urls(change.old) }, "--epoch", "9");
  expect(fence).toBeGreaterThan(0);
});

test("inspect, list, verify, release and doctor use both sets with --old and --new", async () => {
  const change = await startChange(1, 2, 2);
  await step("begin", change);
  const args = [
    ...change.old.flatMap(({ port }) => ["--old", `127.0.0.1:${port}`]),
    ...change.new.flatMap(({ port }) => ["--new", `127.0.0.1:${port}`]),
  ];
  const { owner, end } = await hold("x", {}, ...args);
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
  const released = await runCli(["release", "x", "--owner", owner, "--yes", ...args]);
  expect(released).toMatchObject({ code: 0 });
  expect(released.out.match(/ released$/gm)).toHaveLength(5);
  await end();
});

test("inspect: cannot tell the state while a majority of one of both sets is down", async () => {
  const change = await startChange(0, 3, 3);
  await Promise.all(change.new.slice(1).map((server) => server.kill()));
  const { code, out } = await runCli(["inspect", "x", "--node-timeout", "2s"], { env: change.jointEnv });
  expect({ code, out }).toEqual({ code: 69, out: expect.stringContaining("4 of 6 servers answered, too few to tell") });
});
