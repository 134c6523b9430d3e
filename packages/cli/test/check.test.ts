import { join } from "node:path";
import { expect, test } from "vitest";
import { folderWith } from "./support/folder.ts";
import { runCli } from "./support/program.ts";

const start = { event: "started", format: 1, process: "web-1", machine: "m" };
const grant = { event: "acquired", owner: "o", resources: ["stock"], mode: "exclusive", fence: 1 };
const first = { ...grant, fromMs: 1, fromWallMs: 1, validityMs: 50 };
const second = { ...first, owner: "p", fence: 2 };

/** Returns the path of a file of events that are a millisecond apart. */
async function history(...events: readonly object[]): Promise<string> {
  const lines = events.map((event, index) => `${JSON.stringify({ atMs: index, wallMs: index, ...event })}\n`);
  return join(await folderWith({ "history.jsonl": lines.join("") }), "history.jsonl");
}

test("check: says that a history is correct, in words and as JSON", async () => {
  const file = await history(start, first, { event: "released", owner: "o" });
  expect(await runCli(["check", file])).toEqual({
    code: 0,
    out: "correct: 1 lock and 0 accesses in 1 file\n",
    err: "",
  });
  const { code, out } = await runCli(["check", file, "--json"]);
  expect([code, out.split("\n")]).toEqual([0, [expect.any(String), ""]]);
  const nothing = { violations: 0, findings: [], truncated: [] };
  expect(JSON.parse(out)).toEqual({ verdict: "correct", locks: 1, accesses: 0, ...nothing });
});

test("check: shows what violates a rule, and exits with 1", async () => {
  const { code, out, err } = await runCli(["check", await history(start, first, second)]);
  expect({ code, err }).toEqual({ code: 1, err: "" });
  expect(out).toBe(`exclusion of stock: web-1 (token 2) got its lock 49.00 ms before that of web-1 (token 1) ended

  ms  who       what
1.00  web-1     gets a lock with token 1 on stock
2.00  web-1     gets a lock with token 2 on stock
2.00  VIOLATED  exclusion: web-1 (token 2) got its lock 49.00 ms before that of web-1 (token 1) ended

violated: 2 locks and 0 accesses in 1 file
`);
});

test("check: exits with 2 when it cannot decide", async () => {
  const calls = Array.from({ length: 20 }, (_, id) => ({ event: "write", id, resource: "stock", value: `${id}` }));
  const answers = calls.map(({ id }) => ({ event: "answered", id, outcome: "accepted" }));
  const { code, out } = await runCli(["check", await history(start, ...calls, ...answers)]);
  expect(code).toBe(2);
  expect(out).toMatch(/^undecided of stock: more than 100000 orders are possible [\s\S]+\nundecided: /);
});

test("check: names the line that is malformed, and the option that is needed for several machines", async () => {
  const malformed = await history(start, { ...first, owner: 7 });
  const at = `holdfast: ${malformed}:2 has no owner, or a wrong one\n`;
  expect(await runCli(["check", malformed])).toMatchObject({ code: 65, out: "", err: at });
  const files = [await history(start, first), await history({ ...start, machine: "n" }, second)];
  const needed = "holdfast: --clocks-differ is needed: the files come from several machines, or starts of one\n";
  expect(await runCli(["check", ...files])).toMatchObject({ code: 65, out: "", err: needed });
  expect((await runCli(["check", ...files, "--clocks-differ", "1s"])).code).toBe(0);
});
