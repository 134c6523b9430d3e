import { lockNames } from "@holdfast/redis";
import { documentedPermissions } from "@holdfast/redis-testkit/permissions";
import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { findResources, type SearchResult } from "../src/commands/list.ts";
import { readServerOptions } from "../src/options/server-options.ts";
import { closeServers, openServers, untilConnected } from "../src/servers/servers.ts";
import { setsOf } from "../src/servers/sets.ts";
import { send, startUrlForUser } from "./doctor/lab.ts";
import { holdLock, runCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(3);
beforeEach(async () => {
  for (const server of servers.all) await server.command("FLUSHALL");
});

/** Owners as the library generates them, with labels. */
const [alice, bob] = [`alice:${"a1".repeat(16)}`, `bob:${"b2".repeat(16)}`];

function list(...args: string[]) {
  return runCli(["list", ...args], { env: servers.env });
}

/** Sets a key to an owner, on all servers or on these. */
async function put(key: string, owner: string, on: readonly RedisServer[] = servers.all): Promise<void> {
  for (const server of on) await server.command("SET", key, owner, "PX", 600_000);
}

/** Returns the lines below the titles, with single spaces. */
function rowsOf(out: string): string[] {
  return out
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.replaceAll(/ +/g, " "));
}

test("list: shows each lock with its holder, remaining time, fence and number of servers", async () => {
  const { fence, end } = await holdLock(["b", "a{x}y", "c}d{", "--label", "alice"], servers.env);
  await expect.poll(() => servers.owners("b")).not.toContain(null);
  const { code, out, err } = await list();
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(/^resource +held by +remaining +fence +servers\n/);
  expect(rowsOf(out).map((row) => row.replace(/ \d+s /, " TIME "))).toEqual(
    ["a{x}y", "b", "c}d{"].map((resource) => `${resource} alice TIME ${fence} 3 of 3`),
  );
  await end();
  await servers.free("b");
  expect(await list()).toEqual({ code: 0, out: "", err: "holdfast: no locks match lock:*\n" });
});

test("list: shows the holder by majority, and the owners of claims without a majority", async () => {
  const [a, b, c] = servers.all as [RedisServer, RedisServer, RedisServer];
  await put("lock:most", alice, [a, b]);
  await put("lock:few", alice, [c]);
  await put("lock:split", alice, [a]);
  await put("lock:split", bob, [b, c]);
  await put("lock:contested", alice, [a]);
  await put("lock:contested", bob, [b]);
  const { code, out, err } = await list();
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(rowsOf(out)).toEqual([
    `contested ${alice}, ${bob} 10m 0 2 of 3, no majority`,
    `few ${alice} 10m 0 1 of 3, no majority`,
    "most alice 10m 0 2 of 3",
    "split bob 10m 0 2 of 3",
  ]);
});

test("list: --json prints one line, with the report of inspect for each lock", async () => {
  await put("lock:all", alice);
  await put("lock:few", bob, servers.all.slice(0, 1));
  const report = async (...args: string[]) => {
    const { code, out } = await runCli([...args, "--json"], { env: servers.env });
    expect({ code, lines: out.trim().split("\n").length }).toEqual({ code: 0, lines: 1 });
    return JSON.parse(out.replaceAll(/"remainingMs":\d+/g, '"remainingMs":1'));
  };
  expect(await report("list")).toEqual({
    locks: [await report("inspect", "all"), { ...(await report("inspect", "few")), state: "partly" }],
    truncated: false,
    servers: servers.all.map(({ port }) => ({ node: `127.0.0.1:${port}`, error: null })),
  });
});

test("list: lists the strings of other programs for an empty prefix, but no fence counters or waiting lists", async () => {
  await runCli(["run", "own", "--prefix", "", "--", "true"], { env: servers.env });
  await put("foreign", alice);
  await put("holdfast:line:7", "a lock of this name, which is a string");
  for (const server of servers.all) {
    await server.command("ZADD", "holdfast:line:{own}", 1, "waiter");
    await server.command("SET", lockNames("", "foreign").fence, 7);
    await server.command("HSET", "hash", "field", "value");
  }
  const { code, out } = await list("--prefix", "");
  expect(code).toBe(0);
  expect(rowsOf(out).map((row) => row.split(" ")[0])).toEqual(["foreign", "holdfast:line:7"]);
  expect(out).toMatch(/foreign +alice +10m +7 +3 of 3/);
});

test("list: takes a prefix literally, and a pattern as a glob", async () => {
  for (const key of ["a*b:x1", "a*b:x2", "a*b:y1", "axb:x1", "a*b:"]) await put(key, alice);
  const resources = async (...args: string[]) => rowsOf((await list(...args)).out).map((row) => row.split(" ")[0]);
  expect(await resources("--prefix", "a*b:")).toEqual(["x1", "x2", "y1"]);
  expect(await resources("x*", "--prefix", "a*b:")).toEqual(["x1", "x2"]);
  expect(await resources("?1", "--prefix=a*b:")).toEqual(["x1", "y1"]);
});

test("list: replaces control characters, and shortens values that are longer than owners", async () => {
  await put("lock:\u001b[2Jevil", `${"v".repeat(500)}\u001b`);
  const { out } = await list();
  expect(out).toContain("\uFFFD[2Jevil");
  expect(out).toContain(`${"v".repeat(97)}... `);
  expect(out).not.toContain("\u001b");
});

test("list: --limit cuts the list, and reports it", async () => {
  for (const server of servers.all) {
    const script = `for i = 1, 2500 do redis.call('SET', 'lock:r' .. i, '${alice}', 'PX', 600000) end`;
    await server.command("EVAL", script, 0);
  }
  const whole = await list("--limit", "2500");
  expect({ lines: rowsOf(whole.out).length, err: whole.err }).toEqual({ lines: 2_500, err: "" });
  const cut = await list();
  expect({ code: cut.code, lines: rowsOf(cut.out).length }).toEqual({ code: 0, lines: 1_000 });
  expect(cut.err).toBe(
    "holdfast: only 1000 locks are listed, and there are more: narrow the search with a pattern, or raise --limit\n",
  );
  expect(JSON.parse((await list("--json", "--limit", "3")).out)).toMatchObject({ truncated: true });
});

test("list: works without a minority of the servers, and names the missing ones", async () => {
  const own = await Promise.all([1, 2, 3].map(() => startRedisServer()));
  onTestFinished(async () => void (await Promise.all(own.map((server) => server.stop()))));
  const [dead, hung, other] = own as [RedisServer, RedisServer, RedisServer];
  await put("lock:kept", alice, own);
  const env = { HOLDFAST_NODES: own.map(({ url }) => url).join(" ") };
  await dead.kill();
  const { code, out, err } = await runCli(["list"], { env });
  expect({ code, rows: rowsOf(out) }).toEqual({ code: 0, rows: ["kept alice 10m 0 2 of 3"] });
  expect(err).toMatch(/^holdfast: searched 2 of 3 servers completely: .*\n {2}127\.0\.0\.1:\d+: .*ECONNREFUSED/);
  expect(err).toContain(`127.0.0.1:${dead.port}: `);

  hung.pause();
  const few = await runCli(["list"], { env });
  hung.resume();
  expect({ code: few.code, rows: rowsOf(few.out) }).toEqual({
    code: 69,
    rows: [`kept ${alice} 10m 0 1 of 3, too few answered`],
  });
  expect(few.err).toContain("searched 1 of 3 servers completely: locks may be missing");
  expect(few.err).toContain(`127.0.0.1:${hung.port}: not connected`);
  expect(few.err).not.toContain(`127.0.0.1:${other.port}`);
});

test("list: needs +scan in addition to the permissions for locks, and reports it", async () => {
  const permissions = await documentedPermissions();
  const [allowed, denied] = [await startUrlForUser([...permissions, "+scan"]), await startUrlForUser(permissions)];
  expect(await runCli(["list", "--node", allowed])).toMatchObject({ code: 0, out: "" });
  const refused = await runCli(["list", "--node", denied]);
  expect(refused).toMatchObject({ code: 69, err: expect.stringMatching(/NOPERM .*scan/) });
});

test("list: shows a lock as unknown that no server can be asked about, and exits with 69", async () => {
  const url = await startUrlForUser(["~*", "+scan", "+ping", "+client"]);
  await send(url.replace("holdfast", ""), "SET", "lock:hidden", alice);
  const { code, out, err } = await runCli(["list", "--node", url]);
  expect({ code, rows: rowsOf(out) }).toEqual({ code: 69, rows: ["hidden unknown 0 of 1, too few answered"] });
  expect(err).toBe("holdfast: too few servers answered about 1 of 1 locks: inspect one of them\n");
});

test("list: leaves out names that are not UTF-8", async () => {
  await put("lock:kept\u00e9", alice);
  for (const server of servers.all) {
    const names = ["lock:\\255", "lock:\\254", "other:\\255"];
    for (const name of names) await server.command("EVAL", `redis.call('SET', '${name}', '${alice}')`, 0);
  }
  const { code, out, err } = await list();
  expect({ code, rows: rowsOf(out) }).toEqual({ code: 0, rows: ["kept\u00e9 alice 10m 0 3 of 3"] });
  expect(err).toBe("");
  await servers.all[0]?.command("DEL", "lock:kept\u00e9");
});

test("findResources() stops at its timeout, and reports the servers that were not searched completely", async () => {
  await put("lock:x", alice);
  const options = await readServerOptions({}, servers.env);
  const opened = await openServers(options);
  onTestFinished(() => closeServers(opened));
  await untilConnected(setsOf(opened, undefined));
  const search = { ...options, nodeTimeoutMs: 1_000, pattern: "*", limit: 10, searchTimeoutMs: 60_000 };
  const errorsOf = ({ searches }: SearchResult) => searches.map(({ error }) => error?.message);
  const late = await findResources(opened, { ...search, searchTimeoutMs: 0 });
  expect(errorsOf(late)).toEqual(Array(3).fill("the search took longer than 0 ms"));

  const [hung] = servers.all as [RedisServer];
  hung.pause();
  onTestFinished(() => hung.resume());
  const without = await findResources(opened, search);
  expect(without).toMatchObject({ resources: ["x"], isCut: false });
  expect(errorsOf(without)).toEqual(["no answer within 1000 ms", undefined, undefined]);
});
