import { fileURLToPath } from "node:url";
import { isNightly, type ProgramOptions, type ProgramOutcome, runProgram } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";

const directory = fileURLToPath(new URL("..", import.meta.url));
// Long, for busy machines.
const timeoutMs = 180_000;

function run(options: readonly string[], more: Omit<ProgramOptions, "cwd"> = {}): Promise<ProgramOutcome> {
  return runProgram("src/main.ts", options, { cwd: directory, ...more });
}

/** The log, without status lines and what differs between runs. */
function storyOf(out: string): string[] {
  const lines = [...out.matchAll(/^ *[\d.]+ s {2}(.*)$/gm)].map(([, text = ""]) => text);
  return lines
    .filter((text) => !/ nodes \| | lost its lock| gave up: |^A late write|^sleeper wrote nothing/.test(text))
    .map((text) =>
      text
        .replaceAll(/\d{9,}/g, "T")
        .replaceAll(/\d\.\d s/g, "S")
        .replace(/^w\d/, "W"),
    );
}

/** The same story of every run without a fault, with what differs between memory nodes and servers. */
function expectCleanRun({ code, out, err }: ProgramOutcome, workers: string, back: string, stop: string): void {
  expect(storyOf(out)).toEqual([
    `${workers} read, wait and write counters: only the lock protects orders, stock and report; ledger also checks fencing tokens.`,
    "n2 was killed. 4 of 5 nodes are left and 3 must agree: the work continues.",
    "n4 was killed. 3 of 5 nodes are left and 3 must agree: just enough.",
    `n2 is back${back}`,
    `n4 is back${back}`,
    `sleeper holds ledger and has checked its lock. Right before it writes, ${stop}: the ttl runs out.`,
    "W is granted ledger, with the larger token T.",
    "sleeper continues after S, unaware of the pause. It believes that it holds the lock (ttl S), and writes.",
    "REFUSED: the database has seen token T, and the token of sleeper is T.",
    "Without tokens, this write would have undone another worker's. No lock can prevent that.",
  ]);
  expect(out).toContain("Nothing was violated.");
  expect(out).toMatch(/lost updates +0\n/);
  expect({ code, err }).toEqual({ code: 0, err: "" });
}

describe.concurrent("the demo", { timeout: timeoutMs }, () => {
  it("pnpm demo runs clean with memory nodes, and prints plain lines without a terminal", async () => {
    const outcome = await run(["--seconds", "5"]);
    const back = ", and empty. It was down for S, longer than the ttl: no lock that it forgot can still be valid.";
    expectCleanRun(outcome, "6 workers", back, "it stalls like a stopped process");
    const { out } = outcome;
    expect(out).toMatch(/ 3 of 5 nodes \| /);
    expect(out).toMatch(/ 5 of 5 nodes \| /);
    const seconds = [...out.matchAll(/^ *(\d+)\.\d s {2}\d of 5 nodes \| /gm)].map(([, second]) => second);
    expect(seconds).toEqual([...new Set(seconds)]);
    expect(out).not.toContain("\u001B");
  });

  it("pnpm demo --break exits with 1, and says what was violated", async () => {
    const { code, out, err } = await run(["--seconds", "5", "--break"]);
    expect(out).toContain("nothing protects orders, stock, report and ledger");
    expect(out).toContain("ACCEPTED: without a token");
    expect(out).toMatch(/lost updates +[1-9]/);
    expect(out).toMatch(/VIOLATED: .*no update was lost/);
    expect(out).toMatch(/VIOLATED: .*no two workers held the same lock at once/);
    expect(out).toMatch(/VIOLATED: .*every lock had a larger token/);
    expect(out).toMatch(/VIOLATED: .*late write was refused/);
    expect(out).toMatch(/VIOLATED: .*no stale write was accepted/);
    expect({ code, err }).toEqual({ code: 1, err: "" });
  });

  it("pnpm demo exits with 2 for bad options, and without a redis-server", async () => {
    const bad = await run(["--seconds", "1"]);
    expect(bad).toEqual({ code: 2, out: "", err: expect.stringContaining("--seconds must be") });
    const without = await run(["--redis"], { env: { HOLDFAST_REDIS_SERVER: "/no/such/redis-server" } });
    expect(without).toMatchObject({ code: 2, err: expect.stringContaining("install Redis") });
  });

  // In `pnpm test`, the one with servers stops on Ctrl-C, too.
  if (isNightly) {
    it("pnpm demo stops at once on Ctrl-C, and gives no verdict", async () => {
      const { code, out, err } = await run([], {
        onOutput(text, child) {
          if (text.includes(" nodes | ")) child.kill("SIGINT");
        },
      });
      expect(out).toMatch(/Stopped before the end: no verdict\.\n$/);
      expect({ code, err }).toEqual({ code: 130, err: "" });
    });
  }

  it("pnpm demo --help prints the help", async () => {
    expect(await run(["--help"])).toEqual({ code: 0, out: expect.stringContaining("--break"), err: "" });
  });
});

describe("the demo with servers", { timeout: timeoutMs }, () => {
  // In `pnpm test`, the next one shows that workers and servers start.
  if (isNightly) {
    it("pnpm demo --redis runs clean with worker processes of both client libraries", async () => {
      const outcome = await run(["--redis", "--seconds", "10", "--workers", "4"]);
      const workers = "4 workers (half of them over ioredis, half over node-redis)";
      const back = " on its port, and has read its claims and counters from disk.";
      expectCleanRun(outcome, workers, back, "its process is stopped (SIGSTOP)");
    });
  }

  it("pnpm demo --redis stops at once on Ctrl-C, with its workers and servers", async () => {
    let interruptedAtMs = 0;
    const { code, out } = await run(["--redis", "--workers", "2"], {
      onOutput(text, { pid }) {
        if (!text.includes("n2 was killed")) return;
        interruptedAtMs = performance.now();
        process.kill(-(pid as number), "SIGINT"); // to the whole group, as a terminal does
      },
    });
    expect(performance.now() - interruptedAtMs).toBeLessThan(10_000);
    expect(out).toContain("no verdict");
    expect(code).toBe(130);
  });
});
