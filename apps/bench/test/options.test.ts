import { expect, test } from "vitest";
import { parseCommand } from "../src/options.ts";
import { full, fullStores, quick, quickStores } from "../src/scale.ts";
import { storeWorkloads, workloads } from "../src/workloads/index.ts";

const everything = {
  subject: "libraries",
  scale: full,
  workloads,
  selection: { servers: undefined, atATime: undefined },
  hasIdleLoops: true,
  out: undefined,
  command: "pnpm bench",
};

test("parseCommand() runs everything by default", () => {
  expect(parseCommand([])).toEqual({ kind: "run", options: everything });
});

test("parseCommand() selects workloads and cells, also behind the -- that pnpm passes on", () => {
  const selected = ["counts", "contended"].map((wanted) => workloads.find(({ name }) => name === wanted));
  expect(parseCommand(["--", "--quick", "--only", "counts,contended", "--out", "there"])).toEqual({
    kind: "run",
    options: {
      ...everything,
      ...{ scale: quick, workloads: selected, out: "there", command: "pnpm bench --quick --only counts,contended" },
    },
  });
  expect(parseCommand(["--servers", "1,5", "--at", "100", "--rounds", "7", "--no-idle-loops"])).toEqual({
    kind: "run",
    options: {
      ...everything,
      ...{ scale: { ...full, rounds: 7 }, selection: { servers: [1, 5], atATime: [100] }, hasIdleLoops: false },
      command: "pnpm bench --servers 1,5 --at 100 --rounds 7 --no-idle-loops",
    },
  });
});

test("parseCommand() measures stores by workloads and durations of their own", () => {
  expect(parseCommand(["stores"])).toEqual({
    kind: "run",
    options: {
      ...everything,
      ...{ subject: "stores", scale: fullStores, workloads: storeWorkloads, command: "pnpm bench stores" },
    },
  });
  expect(parseCommand(["stores", "--quick", "--only", "two-names"])).toMatchObject({
    options: { scale: quickStores, workloads: [{ name: "two-names" }] },
  });
  expect(parseCommand(["stores", "--list"])).toMatchObject({ text: expect.stringContaining("pg_advisory_lock*") });
});

test("parseCommand() prints help, and all workloads with their cells", () => {
  expect(parseCommand(["--help"])).toMatchObject({ kind: "print", text: expect.stringContaining("Usage: pnpm bench") });
  const list = parseCommand(["--list"]);
  expect(list.kind === "print" && workloads.every(({ name }) => list.text.includes(`${name}: `))).toBe(true);
  expect(list).toMatchObject({ text: expect.stringContaining("1 process × 50 workers*") });
});

test("parseCommand() refuses unknown names and numbers, and names them", () => {
  expect(parseCommand(["--only", "speed"])).toEqual({
    kind: "bad",
    message: 'there is no workload "speed": see --list',
  });
  expect(parseCommand(["stores", "--only", "counts"])).toMatchObject({ kind: "bad" });
  expect(parseCommand(["stars"])).toEqual({
    kind: "bad",
    message: 'there is nothing called "stars" to measure: only stores',
  });
  expect(parseCommand(["--at", "many"])).toMatchObject({ kind: "bad", message: expect.stringContaining('"many"') });
  expect(parseCommand(["--fast"])).toMatchObject({ kind: "bad", message: expect.stringContaining("--fast") });
});
