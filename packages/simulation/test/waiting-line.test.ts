import { describe, expect, it } from "vitest";
import { ClientProcess } from "../src/client-process.ts";
import { Dice } from "../src/dice.ts";
import { type Wait, WaitingLine } from "../src/waiting-line.ts";
import { World } from "../src/world.ts";

const stock = { resources: ["stock"], patienceMs: 100 };

/** Lets things happen to the line of a process at their moments, and tells the calls that stood in it. */
async function linedUp(...happenings: [atMs: number, happen: (line: WaitingLine, process: ClientProcess) => void][]) {
  const world = new World();
  const process = new ClientProcess(world, "client 1", new Dice(1));
  const records: Wait[] = [];
  const line = new WaitingLine(process, { attemptMs: 50, backOffMs: 40 }, records);
  for (const [atMs, happen] of happenings) process.receive(atMs, () => happen(line, process));
  await world.runUntil(10_000);
  return records;
}

/** The call that stands in line as the so-many-th. */
function nth(number: number, act: (line: WaitingLine, wait: Wait) => void) {
  const waits: Wait[] = [];
  const enter = (line: WaitingLine): void => void waits.push(line.enter(stock));
  const then = (line: WaitingLine): void => act(line, waits[number - 1] as Wait);
  return { enter, then };
}

describe("WaitingLine", () => {
  it("WaitingLine measures how long a call waits, and for how long at a time nothing is tried for it", async () => {
    const first = nth(1, (line, wait) => line.leave(wait));
    const [wait] = await linedUp(
      [0, first.enter],
      [5, (line) => line.tries("a", ["stock"])],
      [8, (line) => line.settles("a")],
      [20, (line) => line.tries("b", ["stock"])],
      [90, (line) => line.settles("b")],
      [95, first.then],
    );
    expect(wait).toMatchObject({ idleMs: 12, waitedMs: 95, calledAtMs: 0, endedAtMs: 95, attempt: undefined });
    expect(wait).toMatchObject({ patienceMs: 100, mayIdleMs: 42, mayWaitMs: 152 });
  });

  it("WaitingLine takes a call for idle as long as others are tried, and not while its process is paused", async () => {
    const first = nth(1, (line, wait) => line.leave(wait));
    const [wait] = await linedUp(
      [0, first.enter],
      [5, (line) => line.tries("a", ["cash"])],
      [10, (_, process) => process.hold(1000)],
      [20, first.then],
    );
    expect(wait).toMatchObject({ idleMs: 10, waitedMs: 10, endedAtMs: 1010 });
  });

  it("WaitingLine does not blame the second in line, nor one that waits for a lock of its own process", async () => {
    const both = nth(1, (line, wait) => line.succeed(wait, "1.1"));
    const [holder, next] = await linedUp(
      [0, both.enter],
      [0, both.enter],
      [10, both.then],
      [510, (line) => line.tries("b", ["stock"])],
    );
    expect(holder).toMatchObject({ attempt: "1.1", idleMs: 10 });
    expect(next?.idleMs).toBe(0);
  });
});
