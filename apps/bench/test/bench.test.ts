import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ProgramOptions, runProgram } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";

const app = fileURLToPath(new URL("..", import.meta.url));
const bench = (args: readonly string[], options: Partial<ProgramOptions> = {}) =>
  runProgram(join(app, "src/main.ts"), args, { cwd: app, ...options });

test("bench stops at a signal, without a report, and leaves nothing running", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-bench-test-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { code, out } = await bench(["--quick", "--only", "counts"], {
    env: { TMPDIR: folder },
    onOutput: (text, child) => text.includes("about 1 min") && child.kill("SIGINT"),
  });
  expect({ code, out }).toEqual({ code: 130, out: expect.stringContaining("Stopped before the end") });
  expect((await readdir(folder)).filter((name) => name.startsWith("holdfast-bench-"))).toEqual([]);
});

test("bench exits with 2 for an unknown workload or an empty selection, and says why", async () => {
  expect(await bench(["--only", "speed"])).toEqual({
    ...{ code: 2, out: "" },
    err: 'bench: there is no workload "speed": see --list\nTry --help.\n',
  });
  expect(await bench(["--only", "uncontended", "--servers", "2"])).toEqual({
    ...{ code: 2, out: "" },
    err: "bench: there is no such cell: see --list\n",
  });
});
