import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ProgramOptions, type ProgramOutcome, readmeExamples, runProgram } from "@holdfast/testkit";
import { describe, expect, type TestContext, test } from "vitest";

const directory = fileURLToPath(new URL("..", import.meta.url));
const reports = join(directory, "reports"); // not under version control

function run(args: readonly string[], options: Omit<ProgramOptions, "cwd"> = {}): Promise<ProgramOutcome> {
  return runProgram("src/main.ts", args, { cwd: directory, ...options });
}

/** A module for `--adapter`, which is gone after the test. */
async function adapter(name: string, code: string, { onTestFinished }: TestContext): Promise<string> {
  const file = join(reports, name);
  await mkdir(reports, { recursive: true });
  await writeFile(file, code);
  onTestFinished(() => rm(file));
  return file;
}

describe.concurrent("pnpm chaos", () => {
  test("attacks locks by the adapter in the README, finds no violation, and writes a report", async (context) => {
    const [example] = await readmeExamples(join(directory, "README.md"));
    const file = await adapter("readme-adapter.ts", example?.code ?? "", context);
    const report = join(reports, "chaos");
    const small = ["--seconds", "5", "--nodes", "3", "--clients", "2", "--seed", "1"];
    const nemeses = ["--nemesis", "client-pause-long,script-flush,lose-replies"];
    const { code, out, err } = await run([...small, ...nemeses, "--adapter", file, "--report", report]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/ client-pause-long +c\d /);
    expect(out).toContain("Nothing was violated.");
    expect(await readFile(join(report, "README.md"), "utf8")).toContain("| [script-flush](#script-flush) |");
    expect((await readdir(join(report, "timelines"))).sort()).toEqual([
      "client-pause-long.svg",
      "lose-replies.svg",
      "script-flush.svg",
    ]);
  });

  test("ends with its processes and servers on Ctrl-C", async () => {
    const { code, out } = await run(
      ["--nemesis", "calm,server-pause", "--seconds", "5", "--clients", "2", "--nodes", "3"],
      {
        onOutput(text, { pid }) {
          if (/calm|server-pause/.test(text)) process.kill(-(pid as number), "SIGINT"); // to the whole group, as a terminal does
        },
      },
    );
    expect(out).toContain("no verdict");
    expect(code).toBe(130);
  });

  test("exits with 2 for bad options, for a bad adapter, and when there is no redis-server", async (context) => {
    expect(await run(["--nodes", "1"])).toEqual({ code: 2, out: "", err: expect.stringContaining("--nodes must be") });
    const file = await adapter("no-adapter.ts", "export const nothing = 1;", context);
    const bad = await run(["--nemesis", "calm", "--adapter", file, "--clients", "2", "--nodes", "3"]);
    expect(bad).toMatchObject({ code: 2, err: expect.stringContaining("exports no function connect") });
    const without = await run(["--nemesis", "calm"], { env: { HOLDFAST_REDIS_SERVER: "/no/such/redis-server" } });
    expect(without).toMatchObject({ code: 2, err: expect.stringContaining("install Redis") });
  });
});
