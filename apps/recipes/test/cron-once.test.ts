import { Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { expect, test } from "vitest";
import { slotOf } from "../src/cron-once.ts";
import { startChild } from "./child.ts";
import { startWorld } from "./world.ts";

test("slotOf() is the same on hosts whose clocks differ slightly", () => {
  const dayMs = 24 * 3_600_000;
  for (const firstMs of [0, Date.UTC(2026, 0, 1, 12), Date.UTC(2026, 0, 1, 2, 30)]) {
    const at = firstMs + 20 * dayMs;
    for (const differenceMs of [-60_000, -1, 0, 1, 60_000]) expect(slotOf(at + differenceMs, dayMs, firstMs)).toBe(at);
  }
});

test("runOnce() runs a job once for each slot on three hosts, at the same time or one after the other", async () => {
  const { lockUrls, dataUrl, data } = await startWorld();
  const hosts = await Promise.all([1, 2, 3].map(() => startChild("cron-host", lockUrls, dataUrl)));
  await Promise.all(hosts.map((host) => host.says(/^ready$/)));

  const together = hosts.map((host) => {
    host.tell("run 1000");
    return host.says(/^(ran|had run)$/);
  });
  expect((await Promise.all(together)).sort()).toEqual(["had run", "had run", "ran"]);

  const outcomes: string[] = [];
  for (const host of hosts) {
    host.tell("run 2000");
    outcomes.push(await host.says(/^(ran|had run)$/));
  }
  expect(outcomes).toEqual(["ran", "had run", "had run"]);
  expect(await data.mget("runs:1000", "runs:2000")).toEqual(["1", "1"]);
});

test("runOnce() runs the job on another host when the first one dies while it runs", async () => {
  const { lockUrls, dataUrl, data } = await startWorld();
  const [first, second] = (await Promise.all([1, 2].map(() => startChild("cron-host", lockUrls, dataUrl)))) as [
    Host,
    Host,
  ];
  first.tell("hang 1000");
  await first.says(/^hangs$/);
  second.tell("run 1000");
  first.send("SIGKILL");
  expect(await second.says(/^(ran|had run)$/)).toBe("ran");
  expect(await data.get("runs:1000")).toBe("2");
});

type Host = Awaited<ReturnType<typeof startChild>>;

test("tryAcquire() without a record lets a quick job run on each host in turn", async () => {
  const nodes = [memoryNode(), memoryNode(), memoryNode()];
  let runs = 0;
  for (const redlock of [new Redlock(nodes), new Redlock(nodes)]) {
    await using lock = await redlock.tryAcquire("cron:report");
    if (lock !== null) runs += 1;
  }
  expect(runs).toBe(2);
});
