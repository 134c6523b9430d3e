import { fileURLToPath } from "node:url";
import { runProgram } from "@holdfast/testkit";
import { expect, test } from "vitest";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const soak = (...args: string[]) => runProgram(main, args, { cwd: fileURLToPath(new URL("..", import.meta.url)) });

test.for([
  { args: ["--minutes", "0"], complaint: "--minutes must be above 0 and at most 600, not 0" },
  { args: ["--seed", "x"], complaint: '--seed must be a whole number from 0, not "x"' },
  { args: ["--only", "b"], complaint: "--only must be load or waiting, not b" },
  { args: ["--hours", "1"], complaint: "--hours" },
])("soak exits with 2 for $args, and says why", async ({ args, complaint }) => {
  expect(await soak(...args)).toMatchObject({ code: 2, out: "", err: expect.stringContaining(complaint) });
});

test("soak prints its usage", async () => {
  expect(await soak("--help")).toMatchObject({ code: 0, out: expect.stringContaining("Usage: pnpm soak") });
});
