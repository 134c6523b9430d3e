import { expect, test } from "vitest";
import { parseCommand } from "../src/options.ts";
import { full, quick } from "../src/scale.ts";
import { workloads } from "../src/workloads/index.ts";

test("parseCommand() runs everything when nothing is asked for", () => {
  expect(parseCommand([])).toEqual({
    kind: "run",
    options: { scale: full, workloads, out: undefined, command: "pnpm bench" },
  });
});

test("parseCommand() runs what is chosen, after the -- that pnpm may leave", () => {
  const chosen = ["held", "contended"].map((wanted) => workloads.find(({ name }) => name === wanted));
  expect(parseCommand(["--", "--quick", "--only", "held,contended", "--out", "there"])).toEqual({
    kind: "run",
    options: { scale: quick, workloads: chosen, out: "there", command: "pnpm bench --quick --only held,contended" },
  });
});

test("parseCommand() prints help, and all workloads with their cases", () => {
  expect(parseCommand(["--help"])).toMatchObject({ kind: "print", text: expect.stringContaining("Usage: pnpm bench") });
  const list = parseCommand(["--list"]);
  expect(list.kind === "print" && workloads.every(({ name }) => list.text.includes(`${name}: `))).toBe(true);
  expect(list).toMatchObject({ text: expect.stringContaining("1 process × 50 workers*") });
});

test("parseCommand() refuses what it does not know, naming it", () => {
  expect(parseCommand(["--only", "speed"])).toEqual({
    kind: "bad",
    message: 'there is no workload "speed": see --list',
  });
  expect(parseCommand(["--quick", "--only", "delay"])).toMatchObject({
    kind: "bad",
    message: "delay has no part in quick runs",
  });
  expect(parseCommand(["--fast"])).toMatchObject({ kind: "bad", message: expect.stringContaining("--fast") });
});
