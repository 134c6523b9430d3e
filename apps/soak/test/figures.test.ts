import { fileURLToPath } from "node:url";
import { runProgram } from "@holdfast/testkit";
import { expect, test } from "vitest";
import { measure } from "../src/figures/measure.ts";
import { topics } from "../src/figures/rows.ts";

const main = fileURLToPath(new URL("../src/figures/main.ts", import.meta.url));

test("figures exits with 2 for bad options, and says why", async () => {
  const outcome = await runProgram(main, ["--only", "x"], { cwd: fileURLToPath(new URL("..", import.meta.url)) });
  const err = "figures: --only must be some of the letters a to g, not x\nTry --help.\n";
  expect(outcome).toEqual({ code: 2, out: "", err });
});

test("measure() counts the locks of all parties over memory nodes", async () => {
  const plans = [
    { client: "listening", parties: [{ name: "one", workers: 2, resources: ["a"] }] },
    { client: "deaf", parties: [{ name: "two", workers: 1, resources: ["a", "b"] }] },
  ] as const;
  const figures = await measure({ measure: "contention", plans, ms: 1_000 }, []);
  expect(figures["one locks"]).toBeGreaterThan(0);
  expect(figures["two locks"]).toBeGreaterThan(0);
  expect(figures["one longest"]).toBeGreaterThan(0);
});

test("topics have each row of the table once", () => {
  const names = topics.map(({ rows }) => rows[0]?.what);
  expect(new Set(names).size).toBe(names.length);
  for (const { rows } of topics) expect(new Set(rows.map(({ what }) => what)).size).toBe(rows.length);
  expect(new Set(topics.map(({ letter }) => letter))).toEqual(new Set("abcdefg"));
});
