import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { startServer } from "./client.ts";
import type { LockReport } from "./client-process.ts";

const ttlMs = 250;
const grantsTimeoutMs = 60_000;

/** Processes that lock the same resources, and what they report. */
function startProcesses(connectionString: string, count: number) {
  const reports = new Map<string, LockReport>();
  const start = (): ChildProcess => {
    const child = fork(fileURLToPath(new URL("./client-process.ts", import.meta.url)), [connectionString, `${ttlMs}`], {
      execArgv: ["--conditions=@holdfast/source", "--import", "tsx"],
    });
    child.on("message", (report: LockReport) => reports.set(report.owner, report));
    return child;
  };
  const kill = async (child: ChildProcess): Promise<void> => {
    // Reports that are under way arrive before the channel closes.
    const ended = Promise.all([once(child, "exit"), once(child, "disconnect")]);
    child.kill("SIGKILL");
    await ended;
  };
  const children = Array.from({ length: count }, start);
  const end = async () => {
    await Promise.all(children.splice(0).map(kill));
  };
  onTestFinished(end);
  return {
    reports,
    end,
    pause: (index: number) => children[index]?.kill("SIGSTOP"),
    resume: (index: number) => children[index]?.kill("SIGCONT"),
    async replace(index: number) {
      await kill(children.splice(index, 1, start())[0] as ChildProcess);
    },
    async grants(more: number) {
      const wanted = reports.size + more;
      for (const endMs = performance.now() + grantsTimeoutMs; reports.size < wanted; await sleep(5)) {
        if (performance.now() > endMs) throw new Error(`${wanted - reports.size} of ${more} locks are missing`);
      }
    },
  };
}

/** Finds locks that began before an earlier one on the same resource had ended, and tokens that do not increase. */
function judge(reports: Iterable<LockReport>): { readonly overlaps: string[]; readonly fenceFaults: string[] } {
  const overlaps: string[] = [];
  const fenceFaults: string[] = [];
  const latest = new Map<string, { untilMs: number; fence: number }>();
  for (const { resources, fence, fromMs, untilMs } of [...reports].sort((a, b) => a.fromMs - b.fromMs)) {
    for (const resource of resources) {
      const before = latest.get(resource) ?? { untilMs: 0, fence: 0 };
      if (fromMs < before.untilMs) overlaps.push(`${resource}: ${before.untilMs - fromMs} ms`);
      if (fence <= before.fence) fenceFaults.push(`${resource}: ${fence} after ${before.fence}`);
      latest.set(resource, { untilMs: Math.max(untilMs, before.untilMs), fence: Math.max(fence, before.fence) });
    }
  }
  return { overlaps, fenceFaults };
}

test("judge() finds overlaps and tokens that do not increase", () => {
  const lock = (owner: string, fence: number, fromMs: number, untilMs: number, ...resources: string[]): LockReport => ({
    ...{ owner, fence, fromMs, untilMs, resources },
  });
  const fine = [lock("1", 1, 0, 10, "a", "b"), lock("2", 3, 10, 20, "b"), lock("3", 2, 10, 30, "a")];
  expect(judge(fine)).toEqual({ overlaps: [], fenceFaults: [] });
  expect(judge([...fine, lock("4", 4, 25, 40, "a")]).overlaps).toEqual(["a: 5 ms"]);
  expect(judge([...fine, lock("4", 3, 30, 40, "b")]).fenceFaults).toEqual(["b: 3 after 3"]);
});

test("postgresNode() keeps exclusion between processes that are stopped for longer than the ttl, or killed", async ({
  annotate,
}) => {
  const server = await startServer();
  const processes = startProcesses(server.connectionString, 4);
  const faults = { pauses: 0, kills: 0 };
  await processes.grants(30);
  for (let times = 0; times < 9; times++) {
    const index = times % 4;
    if (times % 3 === 2) {
      await processes.replace(index);
      faults.kills += 1;
    } else {
      processes.pause(index);
      await sleep(1.5 * ttlMs);
      processes.resume(index);
      faults.pauses += 1;
    }
    await processes.grants(20);
  }
  await processes.end();
  const { reports } = processes;
  const verdict = judge(reports.values());
  await annotate(`4 processes with 4 workers each: ${JSON.stringify({ locks: reports.size, ...faults, ...verdict })}`);
  expect(verdict).toEqual({ overlaps: [], fenceFaults: [] });
});
