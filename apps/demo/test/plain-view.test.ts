import { Writable } from "node:stream";
import picocolors from "picocolors";
import { describe, expect, it } from "vitest";
import { verdictOf } from "../src/model/verdict.ts";
import { plainView } from "../src/view/plain.ts";
import { summary } from "../src/view/summary.ts";
import { after, goodRun, sampled } from "./stories.ts";

const colourless = picocolors.createColors(false);

describe("plainView()", () => {
  it("plainView() prints each line of the log once, and a status line", () => {
    let output = "";
    const view = plainView(
      new Writable({
        write(chunk, _encoding, done) {
          output += chunk;
          done();
        },
      }),
      colourless,
    );
    view.show(after(goodRun.slice(0, 5)));
    view.show(after(goodRun.slice(0, 6)));
    view.close();
    const lines = output.trimEnd().split("\n");
    expect(lines.filter((line) => line.includes("n2 was killed"))).toHaveLength(1);
    expect(lines.filter((line) => line.includes("n4 was killed"))).toHaveLength(1);
    expect(lines.find((line) => line.includes(" nodes | "))).toContain(
      "4 of 5 nodes | 1 locks | median wait 5 ms | lost updates 0 | stale writes refused 0",
    );
  });
});

describe("summary()", () => {
  it("summary() gives the numbers and the checks of a good run", () => {
    const model = after(goodRun);
    expect(`\n${summary(model, verdictOf(model), colourless).join("\n")}\n`).toMatchInlineSnapshot(`
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
    const lost = { kind: "lock-lost", worker: "w1", resource: "orders", message: "expired" } as const;
    const model = after([...goodRun, lost, sampled("orders", 1)]);
    const lines = summary(model, verdictOf(model), colourless);
    expect(lines.at(-1)).toBe(" VIOLATED: no update was lost");
    expect(lines.join("\n")).toMatch(/ locks lost +1\n/);
  });
});
