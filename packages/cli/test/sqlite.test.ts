import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { runCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const redis = withServers(2);

test("run: exits with 78 for a file that cannot be used, and says why", async () => {
  const folder = await reapedDirectory();
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
