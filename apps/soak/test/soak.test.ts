import { fileURLToPath } from "node:url";
import { runProgram } from "@holdfast/testkit";
import { expect, test } from "vitest";

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const soak = (...args: string[]) => runProgram(main, args, { cwd: fileURLToPath(new URL("..", import.meta.url)) });

test("soak ends with 2 for what it cannot do, and says why", async () => {
  expect(await soak("--minutes", "0")).toEqual({
    code: 2,
    out: "",
    err: "soak: --minutes must be above 0 and at most 600, not 0\n",
  });
  expect(await soak("--hours", "1")).toMatchObject({ code: 2, err: expect.stringContaining("--hours") });
});

test("soak tells how it is used", async () => {
  expect(await soak("--help")).toMatchObject({ code: 0, out: expect.stringContaining("Usage: pnpm soak") });
});
