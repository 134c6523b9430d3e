import { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { colors, type Run, type WorkerEvent } from "../src/run.ts";
import { verdictOf } from "../src/verdict.ts";
import { frame, plainView, summary } from "../src/view.ts";
import { entered, goodRun, hearing, left, newRun, sampleTwice } from "./stories.ts";

const small = { columns: 80, rows: 24 };

/** The lines of the picture without colours. */
function drawn(run: Run, nowMs = 0, size = small): string[] {
  return frame(run, nowMs, size).map(stripVTControlCharacters);
}

function waiting(count: number): WorkerEvent[] {
  const names = Array.from({ length: count }, (_, index) => `w${index + 1}`);
  return names.map((worker) => ({ kind: "waiting", worker, resource: "report" }));
}

describe("frame()", () => {
  it("frame() shows nodes, holders, waiting workers, tokens, counters and the log", () => {
    const run = hearing([entered("w1", "orders", 10, 2000, 5), left({ fence: 10, enteredAtMs: 2000 })]);
    run.beganAtMs = 0;
    run.nodes.set("n2", { state: "down", sinceMs: 4000 });
    run.nodes.set("n4", { state: "restarting", sinceMs: 4000 });
    run.log.push({
      atMs: 0,
      text: "2 workers read, wait and write counters: only the lock protects orders, stock and report.",
    });
    run.log.push({ atMs: 4000, text: "n2 was killed. 4 of 5 nodes are left." });
    hearing([{ kind: "waiting", worker: "w2", resource: "orders" }], run);
    run.sample("orders", { label: "w1", remainingMs: 1500, fence: 1_763_655_555_123_456, value: 1 });
    expect(`\n${drawn(run, 7000).join("\n")}\n`).toMatchInlineSnapshot(`
      "
       Holdfast  5 memory nodes · 2 workers · ttl 2.0 s

       nodes     ● n1 up   ○ n2 down 3 s   ● n3 up   ◐ n4 restarting   ● n5 up

       resource      held by  ttl left             token             count  waiting
       orders        w1       ━━━━━━━━━━─── 1.5 s  1763655555123456      1  w2
       stock         free     ─────────────                              0  
       report        free     ─────────────                              0  
       ledger fenced free     ─────────────                              0  

       time      ━━━━━━━━━━━━━━━━━━━─────────────────────────────────── 7 of 20 s
       locks     1 granted   waits: median 5 ms, 99th percentile 5 ms
       updates   0 lost   stale writes: 0 refused

        0.0 s  2 workers read, wait and write counters: only the lock protects
               orders, stock and report.
        4.0 s  n2 was killed. 4 of 5 nodes are left.
      "
    `);
  });

  it.each([
    [80, 24],
    [76, 20],
    [120, 40],
    [200, 60],
  ])("frame() fits into %s columns and %s rows", (columns, rows) => {
    const run = hearing(waiting(32), goodRun());
    run.nodes.set("n2", { state: "down", sinceMs: 0 });
    run.nodes.set("n4", { state: "down", sinceMs: 0 });
    run.fail(new Error("x".repeat(500)), "w1");
    run.sample("ledger", { label: "sleeper", remainingMs: 1500, fence: Number.MAX_SAFE_INTEGER, value: 1 });
    const lines = drawn(run, 99_000, { columns, rows });
    expect(lines.length).toBeLessThan(rows);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(columns);
  });

  it("frame() names as many waiting workers as fit", () => {
    const lines = drawn(hearing(waiting(12)));
    expect(lines.find((line) => line.includes("report"))).toMatch(/ w1 w2 \+10$/);
  });

  it("frame() highlights a lost update, and a run without locks", () => {
    const run = hearing([left({})], newRun(["--break"]));
    sampleTwice(run, "orders", 0);
    const lines = frame(run, 0, small).join("\n");
    expect(lines).toContain(colors.red("1 lost"));
    expect(lines).toContain("WITHOUT LOCKS");
  });

  it("frame() marks the paused worker until it has written", () => {
    const run = newRun();
    run.pause = { sinceMs: 0 };
    run.sample("ledger", { label: "sleeper", remainingMs: 900, fence: 12, value: 0 });
    expect(drawn(run).join("\n")).toContain("sleeper!");
    hearing([left({ worker: "sleeper", resource: "ledger" })], run);
    expect(drawn(run).join("\n")).not.toContain("sleeper!");
  });
});

describe("plainView()", () => {
  it("plainView() prints each line of the log once, and a status line", () => {
    let output = "";
    const stream = new Writable({
      write(chunk, _encoding, done) {
        output += chunk;
        done();
      },
    });
    const view = plainView(stream);
    const run = hearing([entered("w1", "orders", 10, 2000, 5), left({ fence: 10, enteredAtMs: 2000 })]);
    run.beganAtMs = 0;
    run.nodes.set("n2", { state: "down", sinceMs: 4000 });
    run.say("n2 was killed.");
    view.show(run);
    run.say("n4 was killed.");
    view.show(run);
    view.close();
    const lines = stripVTControlCharacters(output).trimEnd().split("\n");
    expect(lines.filter((line) => line.includes("n2 was killed"))).toHaveLength(1);
    expect(lines.filter((line) => line.includes("n4 was killed"))).toHaveLength(1);
    expect(lines.filter((line) => line.includes(" nodes | "))).toHaveLength(1);
    expect(output).toContain("4 of 5 nodes | 1 locks | median wait 5 ms | lost updates 0 | stale writes refused 0");
  });
});

describe("summary()", () => {
  const lines = (run: Run): string[] => summary(run, verdictOf(run)).map(stripVTControlCharacters);

  it("summary() gives the numbers and the checks of a good run", () => {
    expect(`\n${lines(goodRun()).join("\n")}\n`).toMatchInlineSnapshot(`
      "

       locks granted          4
       waits                  median 5 ms, 99th percentile 900 ms
       went elsewhere         0 times, after a wait of 1.0 s
       increments             orders 2, stock 0, report 0, ledger 1
       lost updates           0
       stale writes refused   1

       ✓ no update was lost (the counters show all 3 increments)
       ✓ no two workers held the same lock at once (4 visits compared)
       ✓ every lock had a larger token than those before (on each resource)
       ✓ the paused worker's late write was refused (1 refused)
       ✓ no stale write was accepted (by ledger)
       ✓ locks were granted while two nodes were down (1 locks)
       ✓ every worker finished cleanly (3 workers)

       Nothing was violated.
      "
    `);
  });

  it("summary() says what was violated, and counts lost locks", () => {
    const lost = { kind: "failed", worker: "w1", resource: "orders", code: "LOCK_LOST", message: "expired" } as const;
    const run = hearing([lost], goodRun());
    run.sample("orders", { value: 1 });
    expect(lines(run).at(-1)).toBe(" VIOLATED: no update was lost");
    expect(lines(run).join("\n")).toMatch(/ locks lost +1\n/);
  });
});
