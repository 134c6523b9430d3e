import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { busyMachineFolder, packageFolder, runCli, shellWords, start } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const servers = withServers(3);

interface Block {
  readonly language: string;
  readonly remark: string;
  readonly text: string;
}

async function blocks(): Promise<Block[]> {
  const page = await readFile(join(packageFolder, "README.md"), "utf8");
  return [...page.matchAll(/^```(\w+)(.*)\n([\s\S]*?)^```$/gm)].map(([, language = "", remark = "", text = ""]) => ({
    language,
    remark,
    text,
  }));
}

/** Removes what differs between two runs: servers, fences, and the widths of columns. */
function essence(text: string): string {
  return text
    .replaceAll(/\b[0-9a-f]{32}\b/g, "OWNER")
    .replaceAll(/\d+/g, "N")
    .replaceAll(/ +/g, " ")
    .trim();
}

test("README.md: every command prints the output that is shown", async () => {
  const folder = await busyMachineFolder();
  await writeFile(join(folder, "holdfast"), `#!/bin/sh\nexec ${shellWords} "$@"\n`);
  await chmod(join(folder, "holdfast"), 0o755);
  const env = { ...servers.env, PATH: `${folder}:${process.env.PATH}` };
  const page = await blocks();
  let runs = 0;
  for (const [index, { language, remark, text }] of page.entries()) {
    if (language !== "sh" || remark.startsWith(" no-run: ")) continue;
    const script = text.replaceAll(/\b700(\d)\b/g, (_, digit) => String(servers.all[digit - 1]?.port));
    const { code, out, err } = await start("sh", ["-ec", script], { env, cwd: folder }).ended;
    expect({ script, code, err }).toEqual({ script, code: 0, err: "" });
    const next = page[index + 1];
    if (next?.language === "text") expect(essence(out)).toBe(essence(next.text));
    runs += 1;
  }
  expect(runs).toBe(14);
});

test("README.md: the configuration file is valid", async () => {
  const folder = await reapedDirectory();
  const [config] = (await blocks()).filter(({ language }) => language === "json");
  await writeFile(join(folder, "internal-ca.pem"), "");
  await writeFile(join(folder, "holdfast.config.json"), config?.text ?? "");
  const outcome = await runCli(["inspect", "x"], { cwd: folder, env: servers.env });
  expect(outcome).toMatchObject({ code: 0, err: "" });
});

test("README.md: names every exit code and option", async () => {
  const page = await readFile(join(packageFolder, "README.md"), "utf8");
  const { out } = await runCli(["run", "--help"]);
  const options = [...out.matchAll(/--[a-z-]+/g)].map(([option]) => option);
  expect(options.length).toBeGreaterThan(15);
  for (const option of options) if (!["--help", "--version"].includes(option)) expect(page).toContain(`\`${option}`);
});
