import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const directory = fileURLToPath(new URL("..", import.meta.url));

/** Runs the program, and answers what it printed and how it ended. */
function simulate(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = ["--conditions=@holdfast/source", "--import", "tsx", "src/main.ts", ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, command, { cwd: directory, timeout: 100_000 }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? -1 : 0, stdout, stderr });
    });
  });
}

describe("pnpm simulate", () => {
  it("pnpm simulate runs every class, and ends with 0 when everything holds that must", async () => {
    const { code, stdout } = await simulate("--runs", "60");
    expect(stdout).toMatch(/^survivable: .*\n {2}60 runs, [\d\s]+ operations, [\d\s]+ locks\n/m);
    expect(stdout).toMatch(/^lock-breaking: .*\n {2}6 runs, /m);
    expect(stdout).toMatch(/^fence-breaking: .*\n {2}2 runs, /m);
    expect(stdout).toMatch(/\nEverything holds that must\.\n$/);
    expect(stdout).not.toContain("\u001b");
    expect(code).toBe(0);
  });

  it("pnpm simulate comes to the same each time, whichever thread takes which seeds", async () => {
    const [one, other] = await Promise.all([1, 2].map(() => simulate("--runs", "120", "--faults", "survivable")));
    expect(one).toEqual(other);
  });

  it("pnpm simulate goes on until there are as many operations as asked for", async () => {
    const { stdout } = await simulate("--operations", "700", "--faults", "survivable");
    const [, operations = "none"] = /, ([\d ]+) operations/.exec(stdout) ?? [];
    expect(Number(operations.replaceAll(" ", ""))).toBeGreaterThanOrEqual(700);
  });

  it("pnpm simulate tells one seed as a timeline, as often as it is asked", async () => {
    const first = await simulate("--seed", "3");
    expect(first.stdout).toMatch(/^ +ms {2}who +what\n/);
    expect(first.stdout).toContain("Seed 3: everything holds.");
    expect(await simulate("--seed", "3")).toEqual(first);
  });

  it("pnpm simulate ends with 2 when it is asked for what it does not know", async () => {
    const { code, stderr } = await simulate("--faults", "all");
    expect(stderr).toContain("simulate: --faults must be survivable");
    expect(code).toBe(2);
  });
});
