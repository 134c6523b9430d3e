import { expect, test } from "vitest";
import { type BenchOptions, parseCommand } from "../src/options.ts";
import { full, fullStores, quick, quickStores } from "../src/scale.ts";
import { storeWorkloads, workloads } from "../src/workloads/index.ts";

const everything: BenchOptions = {
  ...{ subject: "libraries", scale: full, workloads, selection: { servers: undefined, atATime: undefined } },
  ...{ hasIdleLoops: true, out: undefined, command: "pnpm bench" },
};
const named = (...names: string[]) =>
  names.map((wanted) => [...workloads, ...storeWorkloads].find(({ name }) => name === wanted));

test.each([
  ["", {}],
  ["-- --quick --only counts,contended --out there", { scale: quick, workloads: named("counts", "contended") }],
  [
    "--servers 1,5 --at 100 --rounds 7 --no-idle-loops",
    { scale: { ...full, rounds: 7 }, selection: { servers: [1, 5], atATime: [100] }, hasIdleLoops: false },
  ],
  ["stores", { subject: "stores", scale: fullStores, workloads: storeWorkloads }],
  ["stores --quick --only two-names", { subject: "stores", scale: quickStores, workloads: named("two-names") }],
])("parseCommand() reads %j, and everything else is as by default", (line, options) => {
  const [words = "", out] = line.replace(/^-- /, "").split(" --out ");
  const command = ["pnpm bench", words].join(" ").trim();
  expect(parseCommand(line.split(" ").filter(Boolean))).toEqual({
    kind: "run",
    options: { ...everything, ...options, out, command },
  });
});

test("parseCommand() prints help, and all workloads with their cells", () => {
  expect(parseCommand(["--help"])).toMatchObject({ kind: "print", text: expect.stringContaining("Usage: pnpm bench") });
  const list = parseCommand(["--list"]);
  expect(list.kind === "print" && workloads.every(({ name }) => list.text.includes(`${name}: `))).toBe(true);
  expect(list).toMatchObject({ text: expect.stringContaining("1 process × 50 workers*") });
  expect(parseCommand(["stores", "--list"])).toMatchObject({ text: expect.stringContaining("pg_advisory_lock*") });
});

test.each([
  ["--only speed", 'there is no workload "speed": see --list'],
  ["stores --only counts", 'there is no workload "counts": see --list'],
  ["stars", 'there is nothing called "stars" to measure: only stores'],
  ["--at many", '"many" is not a list of whole numbers'],
  ["--fast", expect.stringContaining("--fast")],
])("parseCommand() refuses %j, and says why", (line, message) => {
  expect(parseCommand(line.split(" "))).toEqual({ kind: "bad", message });
});
