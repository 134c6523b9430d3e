import { once } from "node:events";
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Redlock } from "@holdfast/core";
import { checkHistory, HistoryError, recordHistory } from "@holdfast/history";
import { memoryNode } from "@holdfast/memory";
import { FaultyNode, reapedDirectory, VirtualClock } from "@holdfast/testkit";
import { describe, expect, onTestFinished, test } from "vitest";
import { written } from "./histories.ts";

/** A client of three nodes on a virtual clock, and what it records. */
function recorded() {
  const clock = new VirtualClock();
  const nodes = Array.from({ length: 3 }, () => new FaultyNode(memoryNode({ clock }), clock));
  const lines: Record<string, unknown>[] = [];
  const history = recordHistory((line) => void lines.push(JSON.parse(line)), { process: "p", clock });
  onTestFinished(() => history.close());
  const redlock = new Redlock(nodes, { clock, observer: history.observer });
  return { clock, nodes, lines, history, redlock };
}

describe("recordHistory()", () => {
  test("recordHistory() records locks with their validity, extensions, releases and losses", async () => {
    const { clock, nodes, lines, redlock } = recorded();
    for (const node of nodes) node.fault = () => ({ requestMs: 2, replyMs: 3 });
    const lock = await clock.until(redlock.acquire("stock"));
    await clock.until(lock.extend());
    await clock.until(lock.release());
    await clock.until(redlock.acquire("stock", { mode: "shared" }));
    await clock.advance(10_000);
    const { owner, fence } = lock;
    const startMs = Number(lines[0]?.atMs);
    expect(lines.map(({ atMs, ...line }) => ({ ...line, atMs: Math.round(Number(atMs) - startMs) }))).toMatchObject([
      { event: "started", format: 1, process: "p", atMs: 0 },
      { event: "acquired", owner, fence, resources: ["stock"], mode: "exclusive", validityMs: 9_898, atMs: 5 },
      { event: "extended", owner, validityMs: 9_898, atMs: 10 },
      { event: "released", owner, atMs: 10 },
      { event: "acquired", mode: "shared", atMs: 20 },
      { event: "lost", reason: "expired" },
    ]);
    const froms = lines.filter(({ fromMs }) => fromMs !== undefined).map(({ fromMs }) => Number(fromMs) - startMs);
    expect(froms.map(Math.round)).toEqual([0, 5, 15]);
  });

  test("read() and write() record the call, the value, and the answer, and settle as the access does", async () => {
    const { lines, history } = recorded();
    expect(await history.read("stock", { fence: 7 }, () => 40)).toBe(40);
    expect(await history.write("stock", null, {}, async () => false)).toBe(false);
    await expect(history.write("stock", "x", {}, () => Promise.reject(new Error("late")))).rejects.toThrow("late");
    await history.read("stock", {}, () => undefined);
    expect(lines.slice(1).map(({ atMs, wallMs, ...line }) => line)).toEqual([
      { event: "read", resource: "stock", id: 1, fence: 7 },
      { event: "answered", id: 1, outcome: "accepted", value: "40" },
      { event: "write", resource: "stock", value: "null", id: 2 },
      { event: "answered", id: 2, outcome: "refused" },
      { event: "write", resource: "stock", value: "x", id: 3 },
      { event: "answered", id: 3, outcome: "unknown" },
      { event: "read", resource: "stock", id: 4 },
      { event: "answered", id: 4, outcome: "accepted", value: "null" },
    ]);
  });

  test("recordHistory(), read() and write() refuse wrong arguments, by name", async () => {
    const { history } = recorded();
    const any = (value: unknown) => value as never;
    expect(() => recordHistory(any(7))).toThrow("target must be a function, not 7");
    expect(() => recordHistory(() => {}, any({ proces: "p" }))).toThrow("proces is not an option of recordHistory");
    expect(() => recordHistory(() => {}, { process: any(7) })).toThrow("process must be a string, not 7");
    expect(() => recordHistory(() => {}, { clock: any({}) })).toThrow("clock must be an object with the method");
    await expect(history.read(any(7), {}, () => 1)).rejects.toThrow("resource must be a string, not 7");
    await expect(history.read("r", any({ token: 1 }), () => 1)).rejects.toThrow("token is not an option of read()");
    await expect(history.write("r", 1, { fence: 0.5 }, () => 1)).rejects.toThrow("fence must be a positive integer");
    await expect(history.write("r", any({}), {}, () => 1)).rejects.toThrow("value must be a string, a number");
    await expect(history.read("r", {}, () => any({}))).rejects.toThrow("the value that is read must be a string");
    await expect(history.read("r", {}, any(undefined))).rejects.toThrow("access must be a function");
  });

  test("recordHistory() creates a file, and none that exists", async () => {
    const file = join(await reapedDirectory(), "history.jsonl");
    const history = recordHistory(file);
    expect(() => recordHistory(file)).toThrow("EEXIST");
    history.close();
    history.close();
    await history.write("stock", 1, {}, () => {});
    expect((await readFile(file, "utf8")).split("\n")).toHaveLength(2);
    expect(await checkHistory([file, file])).toMatchObject({ verdict: "correct", locks: 0 });
  });

  function throwing(): never {
    throw new Error("disk full");
  }

  test.each([
    ["throws", throwing],
    ["rejects", async () => throwing()],
  ])("recordHistory() ends with one warning, and nothing else fails, when the target %s", async (_, fail) => {
    const warned = once(process, "warning");
    let lines = 0;
    const history = recordHistory(() => (++lines > 1 ? fail() : undefined), { process: "p" });
    const redlock = new Redlock([memoryNode()], { observer: history.observer });
    expect(await redlock.using("stock", () => history.read("stock", {}, () => 1))).toBe(1);
    const [{ message }] = await warned;
    expect(message).toBe("the history of p is incomplete from now on: disk full");
    await redlock.close();
    expect(lines).toBeLessThanOrEqual(5);
  });
});

describe("checkHistory()", () => {
  const start = { event: "started", format: 1, process: "p", machine: "m" };
  const term = { fromMs: 0, fromWallMs: 0, validityMs: 50 };
  const grant = { event: "acquired", owner: "o", resources: ["r"], mode: "exclusive", fence: 1, ...term };
  const read = { event: "read", id: 1, resource: "r" };
  const answer = { event: "answered", id: 1, outcome: "accepted" };
  const text = (...lines: object[]): string =>
    lines.map((line, index) => `${JSON.stringify({ atMs: index, wallMs: index, ...line })}\n`).join("");

  test.each([
    ["a line that is not JSON", `${text(start)}{"event":\n`, ":2 is not JSON"],
    ["a line that is no object", `${text(start)}7\n`, ":2 has no known event"],
    ["an unknown event", text(start, { event: "constructor" }), ":2 has no known event"],
    ["another format", text({ ...start, format: 2 }), ":1 has no format, or a wrong one"],
    ["a missing field", text(start, { ...grant, owner: undefined }), ":2 has no owner, or a wrong one"],
    ["an impossible value", text(start, { ...grant, mode: "mine" }), ":2 has no mode, or a wrong one"],
    ["a wrong list", text(start, { ...grant, resources: [7] }), ":2 has no resources, or a wrong one"],
    ["a wrong token", text(start, { ...read, fence: "1" }), ":2 has no fence, or a wrong one"],
    ["no start", text(grant), ":1 must be the start of a process"],
    ["two starts", text(start, start), ":2 must not be the start of a process"],
    ["an id that repeats", text(start, read, read), ":3 repeats the id of an access without an answer"],
    ["a read without its value", text(start, read, answer), ":3 has no value"],
    ["an infinite number", text(start, grant).replace('"fence":1', '"fence":1e999'), ":2 has no fence, or a wrong one"],
    ["an answer to no call", text(start, { event: "answered", id: 1, outcome: "unknown" }), ":2 answers no call"],
    ["a clock that goes back", text(start, { ...grant, atMs: -1 }), ":2: the clock was set back"],
  ])("checkHistory() refuses %s, and names file and line", async (_, content, message) => {
    const [file = ""] = await written([content]);
    const error = await checkHistory([file]).catch((reason) => reason);
    expect(error).toBeInstanceOf(HistoryError);
    expect(error).toMatchObject({ code: "HISTORY", message: expect.stringContaining(file + message) });
  });

  test("checkHistory() refuses a file that cannot be read, and wrong options", async () => {
    await expect(checkHistory(["/nowhere.jsonl"])).rejects.toThrow("/nowhere.jsonl cannot be read: ENOENT");
    await expect(checkHistory([], { clocksDifferMs: 0 })).rejects.toThrow("clocksDifferMs must be a positive integer");
    await expect(checkHistory([], { clocks: 1 } as never)).rejects.toThrow("clocks is not an option of checkHistory");
  });

  test("checkHistory() leaves out an incomplete last line, and says so", async () => {
    const files = await written([text(start, grant, { event: "released", owner: "never granted" }), "", text(start)]);
    await appendFile(files[0] as string, '{"atMs":9');
    await appendFile(files[1] as string, '{"at');
    const verdict = await checkHistory(files);
    expect(verdict).toMatchObject({ verdict: "correct", locks: 1 });
    expect([...verdict.truncated].sort()).toEqual(files.slice(0, 2).sort());
  });

  test("checkHistory() compares files of several machines only if it is told how their clocks differ", async () => {
    const files = await written([text(start, grant), text({ ...start, machine: "other" }, { ...grant, fence: 2 })]);
    await expect(checkHistory(files)).rejects.toThrow("clocksDifferMs");
    expect(await checkHistory(files, { clocksDifferMs: 100 })).toMatchObject({ verdict: "correct" });
    expect(await checkHistory(files, { clocksDifferMs: 5 })).toMatchObject({ findings: [{ rule: "exclusion" }] });
  });

  test("checkHistory() takes a lock as over when either clock says so, as its holder does", async () => {
    const asleep = { fence: 2, owner: "later", fromMs: 9, fromWallMs: 1_000, atMs: 10 };
    const judged = async (wallMs: number) => {
      const files = await written([text(start, grant), text(start, { ...grant, ...asleep, wallMs })]);
      return (await checkHistory(files)).findings.map(({ rule }) => rule);
    };
    expect(await judged(1_001)).toEqual([]);
    expect(await judged(49)).toEqual(["exclusion"]);
    const late = text(
      start,
      { ...grant, atMs: 10, wallMs: 60 },
      { ...grant, fence: 2, owner: "later", atMs: 11, fromMs: 10 },
    );
    expect(await checkHistory(await written([late]))).toMatchObject({ verdict: "correct" });
  });

  test("checkHistory() compares no locks of several machines before both have ended", async () => {
    const process = (machine: string, fence: number, atMs: number, endMs: number) => {
      const times = { atMs, wallMs: atMs, fromWallMs: atMs, validityMs: 10_000 };
      const owner = `owner ${fence}`;
      const lock = { ...grant, owner, fence, ...times };
      return { start: { ...start, machine }, lock, end: { event: "released", owner, atMs: endMs, wallMs: endMs } };
    };
    const [first, second, third] = [
      process("m", 1, 10, 340),
      process("other", 2, 100, 290),
      process("other", 3, 320, 330),
    ];
    const files = await written([
      text(first.start, first.lock, first.end),
      text(second.start, second.lock, second.end, third.lock, third.end),
    ]);
    expect(await checkHistory(files, { clocksDifferMs: 250 })).toMatchObject({ verdict: "correct", locks: 3 });
  });

  test("checkHistory() allows any order for concurrent writes under one token", async () => {
    const lines = [
      start,
      { ...read, fence: 1 },
      { ...answer, value: "first" },
      { ...read, fence: 1, event: "write", id: 2, value: "a" },
      { ...read, fence: 1, event: "write", id: 3, value: "b" },
      { ...answer, id: 2 },
      { ...answer, id: 3 },
      { ...read, fence: 1, id: 4 },
      { ...answer, id: 4, value: "a" },
    ];
    const files = await written([text(...lines)]);
    expect(await checkHistory(files)).toMatchObject({ verdict: "correct", findings: [] });
  });
});
