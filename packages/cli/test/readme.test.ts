import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "./support/folder.ts";
import { blocksOf, essence, shell } from "./support/page.ts";
import { packageFolder, runCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(3);

test("README.md: every command prints the output that is shown", async () => {
  const inFolder = await shell(servers.all.map(({ port }) => port));
  const page = await blocksOf("README.md");
  let runs = 0;
  for (const [index, { language, remark, text }] of page.entries()) {
    if (language !== "sh" || remark.startsWith(" no-run: ")) continue;
    const { code, out, err } = await inFolder(text, servers.env).ended;
    expect({ text, code, err }).toEqual({ text, code: 0, err: "" });
    const next = page[index + 1];
    if (next?.language === "text") expect(essence(out)).toBe(essence(next.text));
    runs += 1;
  }
  expect(runs).toBe(15);
});

test("README.md: the file of variables is valid", async () => {
  const [variables] = (await blocksOf("README.md")).filter(({ language }) => language === "ini");
  const folder = await folderWith({ "locks.env": variables?.text, "internal-ca.pem": "" });
  const outcome = await runCli(["inspect", "x", "--env-file", "locks.env"], { cwd: folder, env: servers.env });
  expect(outcome).toMatchObject({ code: 0, err: "" });
});

test("README.md: names every exit code and option", async () => {
  const page = await readFile(join(packageFolder, "README.md"), "utf8");
  const { out } = await runCli(["run", "--help"]);
  const options = [...out.matchAll(/--[a-z-]+/g)].map(([option]) => option);
  expect(options.length).toBeGreaterThan(15);
  for (const option of options) if (!["--help", "--version"].includes(option)) expect(page).toContain(`\`${option}`);
});
