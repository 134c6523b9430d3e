import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readmeExamples } from "@holdfast/docs-testkit";
import { isNightly, type ProgramOptions, type ProgramOutcome, runProgram } from "@holdfast/testkit";
import { describe, expect, type TestContext, test } from "vitest";

const directory = fileURLToPath(new URL("..", import.meta.url));
const reports = join(directory, "reports"); // not under version control

/** In the order in which the program prints them. */
const small = ["--nodes", "3", "--clients", "2", "--ttl", "1000", "--seed", "1"];
const smallest = ["--seconds", "1", ...small];
/** On a busy machine, two clients may not meet within a second. */
const longEnough = ["--seconds", "6", ...small];

const grantsAll = `
  const node = (name) => ({
    name,
    acquire: async ({ fenceHint }) => ({ granted: true, fence: fenceHint }),
    extend: async ({ fence }) => ({ held: true, fence }),
    release: async () => ({ released: true }),
  });
  export const connect = async (urls) => ({ nodes: urls.map((url) => node(url)), close() {} });
`;

function run(args: readonly string[], options: Omit<ProgramOptions, "cwd"> = {}): Promise<ProgramOutcome> {
  return runProgram("src/main.ts", args, { cwd: directory, ...options });
}

/** Writes a module for `--adapter`, until the end of the test. */
async function adapter(name: string, code: string, { onTestFinished }: TestContext): Promise<string> {
  const file = join(reports, name);
  await mkdir(reports, { recursive: true });
  await writeFile(file, code);
  onTestFinished(() => rm(file));
  return file;
}

describe.concurrent("pnpm chaos", () => {
  // In `pnpm test`, the next one shows that processes lock over an adapter, and that a judge reads what they recorded.
  if (isNightly) {
    test("pnpm chaos attacks locks over the adapter of the README, finds no violation, and writes a report", async (context) => {
      const [example] = await readmeExamples(join(directory, "README.md"));
      const file = await adapter("readme-adapter.ts", example?.code ?? "", context);
      const report = join(reports, "chaos");
      await rm(report, { recursive: true, force: true });
      const nemeses = ["--nemesis", "client-pause-long,script-flush,lose-replies"];
      const { code, out, err } = await run([...smallest, ...nemeses, "--adapter", file, "--report", report]);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(out).toMatch(/ client-pause-long +c\d /);
      expect(out).toContain("Nothing was violated.");
      expect(await readFile(join(report, "README.md"), "utf8")).toContain("| script-flush |");
    });

    test("pnpm chaos stops its processes and servers on Ctrl-C", async () => {
      const { code, out } = await run([...smallest, "--seconds", "600", "--nemesis", "calm,server-pause"], {
        onOutput(text, { pid }) {
          if (text.includes("updates lost")) process.kill(-(pid as number), "SIGINT"); // to the whole group, as a terminal does
        },
      });
      expect(out).toContain("no verdict");
      expect(code).toBe(130);
    });
  }

  test.for(isNightly ? [[], ["--election"]] : [[]])(
    "pnpm chaos %j exits with 1 when nodes grant every request, and says what was violated",
    async (mode, context) => {
      const file = await adapter(`grants-all${mode}.ts`, grantsAll, context);
      const { code, out } = await run([...mode, ...longEnough, "--nemesis", "calm", "--adapter", file]);
      expect(out).toMatch(/VIOLATED: grants while another client held the lock: \d/);
      expect(out).toContain(["pnpm chaos", ...mode, ...longEnough].join(" "));
      expect(code).toBe(1);
    },
  );

  test("pnpm chaos exits with 2 for bad options, for a bad adapter, and without a redis-server", async (context) => {
    expect(await run(["--nodes", "1"])).toEqual({ code: 2, out: "", err: expect.stringContaining("--nodes must be") });
    const file = await adapter("no-adapter.ts", "export const nothing = 1;", context);
    const bad = await run([...smallest, "--nemesis", "calm", "--adapter", file]);
    expect(bad).toMatchObject({ code: 2, err: expect.stringContaining("exports no function connect") });
    const without = await run(["--nemesis", "calm"], { env: { HOLDFAST_REDIS_SERVER: "/no/such/redis-server" } });
    expect(without).toMatchObject({ code: 2, err: expect.stringContaining("install Redis") });
  });
});
