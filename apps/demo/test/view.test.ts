import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { colors, type Run } from "../src/run.ts";
import { verdictOf } from "../src/verdict.ts";
import { frame, summary } from "../src/view.ts";
import { callOf, goodRun, hearing, newRun, visitOf } from "./stories.ts";

const { red, yellow } = colors;
const small = { columns: 80, rows: 24 };

/** The lines of the picture without colours. */
function drawn(run: Run, nowMs = 0, size = small): string[] {
  return frame(run, nowMs, size).map(stripVTControlCharacters);
}

describe("frame()", () => {
  it("frame() shows nodes, holders, waiting workers, tokens, counters and the log", () => {
    const run = hearing([visitOf({ fence: 10, enteredAtMs: 2000 }), callOf("w2", "orders")]);
    run.beganAtMs = 0;
    run.nodes.set("n2", { state: "down", sinceMs: 4000 });
    run.nodes.set("n4", { state: "restarting", sinceMs: 4000 });
    run.log.push({
      atMs: 0,
      text: "2 workers read, wait and write counters: only the lock protects orders, stock and report.",
    });
    run.log.push({ atMs: 4000, text: "n2 was killed. 4 of 5 nodes are left." });
    run.samples.set("orders", { label: "w1", remainingMs: 1500, fence: 1_763_655_555_123_456, value: 1, lost: 0 });
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
    const waiting = Array.from({ length: 32 }, (_, index) => callOf(`w${index + 1}`, "report"));
    const run = hearing(waiting, goodRun());
    run.nodes.set("n2", { state: "down", sinceMs: 0 });
    run.nodes.set("n4", { state: "down", sinceMs: 0 });
    run.fail(new Error("x".repeat(500)), "w1");
    run.samples.set("ledger", {
      ...{ label: "sleeper", remainingMs: 1500, fence: Number.MAX_SAFE_INTEGER, value: 1, lost: 0 },
    });
    const lines = drawn(run, 99_000, { columns, rows });
    expect(lines.length).toBeLessThan(rows);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(columns);
    expect(lines.find((line) => line.includes("report"))).toMatch(/ w1 w2.*…$/);
  });

  it("frame() highlights a lost update, a run without locks, and the paused worker", () => {
    const run = newRun(["--break"]);
    run.samples.set("ledger", { label: "sleeper", remainingMs: 900, fence: 12, value: 0, lost: 1 });
    run.isPaused = true;
    const lines = frame(run, 0, small).join("\n");
    for (const text of [red("1 lost"), "WITHOUT LOCKS", "sleeper!"]) expect(lines).toContain(text);
    run.isPaused = false;
    expect(drawn(run).join("\n")).not.toContain("sleeper!");
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

  it("summary() says what was violated, and counts and describes failures, but not the sleeper's lost lock", () => {
    const failed = (code: string, worker = "w1", calledAtMs = 0) =>
      callOf(worker, "orders", { calledAtMs, leftAtMs: 1, failure: { code, message: "late" } });
    const run = hearing(
      [
        ...[failed("LOCK_LOST"), failed("LOCK_LOST", "sleeper"), failed("QUORUM_UNREACHABLE", "w1", 1)],
        ...[failed("WAIT_TIMEOUT", "w2"), failed("FINISH", "w2", 1)],
        visitOf({ resource: "ledger", fence: 3, write: "refused", newestFence: 4 }),
      ],
      goodRun(),
    );
    run.samples.set("orders", { value: 1, lost: 1 });
    expect(lines(run).at(-1)).toBe(" VIOLATED: no update was lost");
    expect(lines(run).join("\n")).toMatch(
      / went elsewhere +1 times.*\n[\s\S]* gave up, no quorum +1\n locks lost +1\n/,
    );
    expect(run.waiting("orders")).toEqual([]);
    expect(run.log.map(({ text }) => text)).toEqual([
      yellow("w1 lost its lock, and wrote nothing: late"),
      yellow("w1 gave up: late"),
      yellow("A late write of w1 to ledger was refused: 3 is below 4."),
    ]);
  });
});
