import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { folderWith } from "./support/folder.ts";
import { runCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const redis = withServers(2);

/** Returns the environment that names a new file. */
async function newFile(): Promise<{ readonly folder: string; readonly env: Readonly<Record<string, string>> }> {
  const folder = await reapedDirectory();
  return { folder, env: { HOLDFAST_NODES: `sqlite:${join(folder, "locks.db")}` } };
}

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
