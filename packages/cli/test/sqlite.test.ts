import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { folderWith } from "./support/folder.ts";
import { runCli, startCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const redis = withServers(2);

/** Returns the environment that names a new file. */
async function newFile(): Promise<{ readonly folder: string; readonly env: Readonly<Record<string, string>> }> {
  const folder = await reapedDirectory();
  return { folder, env: { HOLDFAST_NODES: `sqlite:${join(folder, "locks.db")}` } };
}

test("run: locks over a SQLite file, and inspect, list and release show and free the lock", async () => {
  const { folder, env } = await newFile();
  const holder = startCli(["run", "b", "a", "--label", "alice", "--", "sh", "-c", "echo $HOLDFAST_FENCE; read x"], {
    env,
  });
  await holder.prints("\n");
  const fence = holder.out().trim();
  const inspected = await runCli(["inspect", "b"], { env });
  expect(inspected.out).toMatch(
    new RegExp(`^b is held by alice\n[^]*\n${join(folder, "locks.db")} +alice +\\d+s +${fence}\n$`),
  );
  expect(await runCli(["run", "b", "--no-wait", "--", "true"], { env })).toMatchObject({ code: 75 });
  const listed = await runCli(["list"], { env });
  expect(listed.out.replaceAll(/ +/g, " ")).toMatch(
    new RegExp(`^a alice \\d+s ${fence} 1 of 1\nb alice \\d+s ${fence} 1 of 1$`, "m"),
  );
  const [owner] = /alice:[0-9a-f]{32}/.exec(inspected.out) ?? [""];
  expect(await runCli(["release", "b", "--owner", owner, "--yes"], { env })).toMatchObject({ code: 0 });
  holder.write("\n");
  await holder.ended;
  expect(await runCli(["list"], { env })).toEqual({ code: 0, out: "", err: "holdfast: no locks match *\n" });
});

test("run: forms a quorum of a SQLite file and Redis servers", async () => {
  const { env } = await newFile();
  const nodes = { HOLDFAST_NODES: `${env.HOLDFAST_NODES} ${redis.env.HOLDFAST_NODES}` };
  const outcome = await runCli(["run", "mixed", "--", "holdfast-is-not-here"], { env: nodes });
  expect(outcome.code).toBe(127);
  const { out } = await runCli(["inspect", "mixed", "--json"], { env: nodes });
  expect(JSON.parse(out)).toMatchObject({ state: "free", nodes: [{ error: null }, { error: null }, { error: null }] });
});

test("doctor: examines a file", async () => {
  const { env } = await newFile();
  const timeouts = ["--node-timeout", "5s", "--ttl", "10m"];
  const { code, out } = await runCli(["doctor", "--json", ...timeouts], { env });
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    level: expect.any(String),
    suggestedNodeTimeoutMs: 1_000,
    recommendedNodeTimeoutMs: expect.any(Number),
    servers: [{ address: { machine: "local" }, view: { kind: "sqlite", lockFailure: null, latency: { pings: 100 } } }],
  });
});

test("run: exits with 78 for a file that cannot be used, and says why", async () => {
  const { folder } = await newFile();
  await writeFile(
    join(folder, "text"),
    "this is not a database, but a text that is longer than the header of one".repeat(9),
  );
  for (const [file, why] of [
    ["none/locks.db", "its folder is missing"],
    ["text", "it is not a SQLite database"],
  ] as const) {
    const node = `sqlite:${join(folder, file)}`;
    const { code, err } = await runCli(["run", "x", "--node", node, "--", "true"]);
    expect({ code, err }).toEqual({ code: 78, err: expect.stringContaining(why) });
    expect(err).toContain("could not lock x: 1 of 1 addresses are wrong");
    const others = [node, ...redis.all.map(({ url }) => url)].flatMap((each) => ["--node", each]);
    expect(await runCli(["run", "x", ...others, "--", "true"])).toMatchObject({ code: 0 });
    expect(await runCli(["list", "--node", node])).toMatchObject({ code: 69, err: expect.stringContaining(why) });
  }
});

test("a configuration file names a SQLite file relative to its folder", async () => {
  const folder = await folderWith({ "holdfast.config.json": { nodes: ["sqlite:locks.db"] } });
  await mkdir(join(folder, "below"));
  expect(await runCli(["run", "x", "--", "true"], { cwd: join(folder, "below") })).toMatchObject({ code: 0, err: "" });
  expect(await readdir(join(folder, "below"))).toEqual([]);
  expect(await readdir(folder)).toContain("locks.db");
});

test("holdfast names the packages that a file needs if no driver is installed", async () => {
  const { folder, env } = await newFile();
  const { code, err } = await runCli(["inspect", "x"], { env, cwd: folder, isAlone: true });
  expect({ code, err }).toEqual({ code: 64, err: expect.stringContaining("npm install libsql") });
});
