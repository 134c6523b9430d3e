/** Two processes that lock over real servers, and record what they do. */
import { join } from "node:path";
import { checkHistory } from "@holdfast/history";
import { reapedDirectory, runProgram, startRedisServer } from "@holdfast/testkit";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";

const cwd = import.meta.dirname;
let locks: readonly string[] = [];

beforeAll(async () => {
  const servers = await Promise.all([startRedisServer(), startRedisServer(), startRedisServer()]);
  locks = servers.map(({ port }) => String(port));
  return async () => void (await Promise.all(servers.map((server) => server.stop())));
});

/** Starts a worker over a storage. */
async function workers(tokens: "checks" | "ignores") {
  const storage = await startRedisServer();
  onTestFinished(() => storage.stop());
  const folder = await reapedDirectory();
  return (name: string, pace: "waits" | "goes", onOutput?: Parameters<typeof runProgram>[2]["onOutput"]) => {
    const args = [join(folder, `${name}.jsonl`), tokens, pace, String(storage.port), ...locks];
    const ended = runProgram("fixtures/worker.ts", args, { cwd, ...(onOutput && { onOutput }) });
    return { file: args[0] as string, ended };
  };
}

/** Records a holder that is paused between its read and its write, while another process does all of its work. */
async function pausedHolder(tokens: "checks" | "ignores"): Promise<readonly string[]> {
  const start = await workers(tokens);
  const paused = start("paused", "waits", async (_, child) => {
    child.kill("SIGSTOP");
    const other = start("other", "goes");
    files.push(other.file);
    const outcome = await other.ended;
    child.kill("SIGCONT");
    child.stdin?.write("go\n");
    expect(outcome).toMatchObject({ code: 0, err: "" });
  });
  const files = [paused.file];
  expect(await paused.ended).toMatchObject({ code: 0, err: "" });
  return files;
}

describe("recordHistory()", { timeout: 120_000 }, () => {
  test("recordHistory() in two processes records a history that is correct", async () => {
    const start = await workers("checks");
    const both = [start("one", "goes"), start("two", "goes")];
    for (const { ended } of both) expect(await ended).toMatchObject({ code: 0, err: "" });
    const verdict = await checkHistory(both.map(({ file }) => file));
    expect(verdict).toMatchObject({ verdict: "correct", locks: 40, accesses: 80, truncated: [] });
  });

  test("recordHistory() records that the storage refuses a holder that was paused", async () => {
    const verdict = await checkHistory(await pausedHolder("checks"));
    expect(verdict).toMatchObject({ verdict: "correct", locks: 21, accesses: 42 });
  });

  test("recordHistory() records the update that is lost where the storage ignores tokens", async () => {
    const { verdict, findings } = await checkHistory(await pausedHolder("ignores"));
    expect(verdict).toBe("violated");
    expect(findings.map(({ rule }) => rule)).toEqual(["stale write", "linearizability"]);
    expect(findings[0]?.timeline.at(-1)).toMatchObject({ who: "VIOLATED" });
  });
});
