import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const directory = fileURLToPath(new URL("..", import.meta.url));

/** Runs the program, and resolves with its output and exit code. */
function simulate(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = ["--conditions=@holdfast/source", "--import", "tsx", "src/main.ts", ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, command, { cwd: directory, timeout: 100_000 }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr });
    });
  });
}

describe("pnpm simulate", () => {
  it("pnpm simulate runs every class, and exits with 0 when every promise was kept", async () => {
    const { code, stdout } = await simulate("--runs", "20");
    expect(stdout).toMatch(
      /^survivable: .*\n {2}20 runs, [\d\s]+ operations, [\d\s]+ locks, [\d\s]+ of them shared\n/m,
    );
    expect(stdout).toMatch(/^lock-breaking: .*\n {2}2 runs, /m);
    expect(stdout).toMatch(/^fence-breaking: .*\n {2}1 runs, /m);
    expect(stdout).toMatch(/\nEvery promise was kept\.\n$/);
    expect(stdout).not.toContain("\u001b");
    expect(code).toBe(0);
  });

  it("pnpm simulate gives the same results each time, whichever thread simulates a seed", async () => {
    const [one, other] = await Promise.all([1, 2].map(() => simulate("--runs", "24", "--faults", "survivable")));
    expect(one).toEqual(other);
  });

  it("pnpm simulate --operations continues until there are enough operations", async () => {
    const { stdout } = await simulate("--operations", "400", "--faults", "survivable");
    const [, operations = "none"] = /, ([\d ]+) operations/.exec(stdout) ?? [];
    expect(Number(operations.replaceAll(" ", ""))).toBeGreaterThanOrEqual(400);
  });

  it("pnpm simulate --seed prints the same timeline each time", async () => {
    const first = await simulate("--seed", "3");
    expect(first.stdout).toMatch(/^ +ms {2}who +what\n/);
    expect(first.stdout).toContain("Seed 3: every promise is kept.");
    expect(await simulate("--seed", "3")).toEqual(first);
  });

  it("pnpm simulate exits with 2 for unknown faults", async () => {
    const { code, stderr } = await simulate("--faults", "all");
    expect(stderr).toContain("simulate: --faults must be survivable");
    expect(code).toBe(2);
  });
});
