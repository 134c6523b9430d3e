import { stripVTControlCharacters } from "node:util";
import picocolors from "picocolors";
import { describe, expect, it } from "vitest";
import { frame } from "../src/view/frame.ts";
import { after, goodRun, left, sampled, setup } from "./stories.ts";

const colourless = picocolors.createColors(false);
const colourful = picocolors.createColors(true);
const small = { columns: 80, rows: 24 };

describe("frame()", () => {
  it("frame() shows nodes, holders, waiting workers, tokens, counters and the log", () => {
    const model = after([
      ...goodRun.slice(0, 5),
      { kind: "waiting", worker: "w2", resource: "orders" },
      sampled("orders", 1, { holder: "w1", remainingMs: 1500, fence: 1_763_655_555_123_456 }),
    ]);
    expect(`\n${frame(model, 7000, small, colourless).join("\n")}\n`).toMatchInlineSnapshot(`
      "
       Holdfast  5 memory nodes · 2 workers · ttl 2.0 s

       nodes     ● n1 up   ○ n2 down 3 s   ● n3 up   ● n4 up   ● n5 up

       resource      held by  ttl left             token             count  waiting
       orders        w1       ━━━━━━━━━━─── 1.5 s  1763655555123456      1  w2
       stock         free     ─────────────                              0  
       report        free     ─────────────                              0  
       ledger fenced free     ─────────────                              0  

       time      ━━━━━━━━━━━━━━━━━━━─────────────────────────────────── 7 of 20 s
       locks     1 granted   waits: median 5 ms, 99th percentile 5 ms
       updates   0 lost   stale writes: 0 refused

        0.0 s  2 workers read, wait and write counters: only the lock protects
               orders, stock and report; ledger also checks fencing tokens.
        4.0 s  n2 was killed. 4 of 5 nodes are left and 3 must agree: the work
               continues.
      "
    `);
  });

  it.each([
    [80, 24],
    [76, 20],
    [120, 40],
    [200, 60],
  ])("frame() fits into %s columns and %s rows, with or without colours", (columns, rows) => {
    const names = Array.from({ length: 32 }, (_, index) => `w${index + 1}`);
    const crowd = names.map((worker) => ({ kind: "waiting", worker, resource: "report" }) as const);
    const model = after([
      ...goodRun,
      ...crowd,
      { kind: "node-killed", node: "n2" },
      { kind: "node-killed", node: "n4" },
      { kind: "worker-failed", worker: "w1", message: "x".repeat(500) },
      sampled("ledger", 1, { holder: "sleeper", remainingMs: 1500, fence: Number.MAX_SAFE_INTEGER }),
    ]);
    const plain = frame(model, 99_000, { columns, rows }, colourless);
    expect(plain.length).toBeLessThan(rows);
    expect(Math.max(...plain.map((line) => line.length))).toBeLessThan(columns);
    const coloured = frame(model, 99_000, { columns, rows }, colourful);
    expect(coloured.map(stripVTControlCharacters)).toEqual(plain);
    expect(coloured).not.toEqual(plain);
  });

  it("frame() names as many waiting workers as fit", () => {
    const waiting = Array.from({ length: 12 }, (_, index) => `w${index + 1}`).map(
      (worker) => ({ kind: "waiting", worker, resource: "report" }) as const,
    );
    const lines = frame(after(waiting), 0, small, colourless);
    expect(lines.find((line) => line.includes("report"))).toMatch(/ w1 w2 \+10$/);
  });

  it("frame() highlights a lost update, and a run without locks", () => {
    const lost = [left({}), sampled("orders", 0), sampled("orders", 0)];
    const lines = frame(after(lost, { ...setup, locked: false }), 0, small, colourful).join("\n");
    expect(lines).toContain(colourful.red("1 lost"));
    expect(lines).toContain("WITHOUT LOCKS");
  });

  it("frame() marks the paused worker until it has written", () => {
    const held = sampled("ledger", 0, { holder: "sleeper", remainingMs: 900, fence: 12 });
    const paused = after([...goodRun.slice(0, 12), held]);
    expect(frame(paused, 0, small, colourless).join("\n")).toContain("sleeper!");
  });
});
