import { startWorkerProcess, type WorkerProcess } from "@holdfast/app-kit/worker-process";
import { startRedisServer } from "@holdfast/testkit";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import { afterAll, expect, onTestFinished, test } from "vitest";
import type { LockMode } from "../src/index.ts";
import type { Events, Served } from "./fixtures/process.ts";

const program = await bundleProgram(new URL("./fixtures/process.ts", import.meta.url));
const limitMs = 60_000;

const servers = await Promise.all([1, 2, 3].map(() => startRedisServer()));
afterAll(async () => void (await Promise.all(servers.map((server) => server.stop()))));

/** Starts processes with these names, and collects what they tell. */
async function start(names: readonly string[], ttlMs: number, events: Partial<Events> = {}) {
  const fences = new Map<string, number | null>();
  const outcomes = new Map<string, string>();
  const collecting: Partial<Events> = {
    granted: (clientId, request, fence) => void fences.set(`${clientId} ${request}`, fence),
    settled: (clientId, request, outcome) => void outcomes.set(`${clientId} ${request}`, outcome),
    ...events,
  };
  const ports = servers.map(({ port }) => port);
  const processes = names.map((name) => {
    const process = startWorkerProcess<Served>(program, { name, events: collecting });
    onTestFinished(() => process.stop());
    return process;
  });
  await Promise.all(processes.map((process) => process.call("connect", limitMs, process.name, ports, ttlMs)));
  const [one, two] = processes as [WorkerProcess<Served>, WorkerProcess<Served>];
  /** Waits until the callback of a request was called, and returns the fence. */
  const granted = async ({ name }: WorkerProcess<Served>, request: number): Promise<number> => {
    await expect.poll(() => fences.get(`${name} ${request}`)).toBeGreaterThan(0);
    return fences.get(`${name} ${request}`) as number;
  };
  return { one, two, granted, fences, outcomes };
}

test("request() lets readers of two processes in together, writers alone, and fences grow from one to the next", async () => {
  const inside: string[] = [];
  const wrong: string[] = [];
  const fences: { mode: string; fence: number }[] = [];
  let readersTogether = 0;
  const { one, two } = await start(["one", "two"], 10_000, {
    enter(mode, fence) {
      if (inside.length > 0 && (mode === "exclusive" || inside.includes("exclusive")))
        wrong.push(`${mode} in ${inside}`);
      const rivals = fences.filter((earlier) => mode === "exclusive" || earlier.mode === "exclusive");
      if (rivals.some((earlier) => earlier.fence >= fence)) wrong.push(`${mode} with ${fence}`);
      inside.push(mode);
      fences.push({ mode, fence });
      readersTogether = Math.max(readersTogether, inside.length);
    },
    leave: (mode) => void inside.splice(inside.indexOf(mode), 1),
  });
  const modes = Array.from({ length: 60 }, (_, index): LockMode => (index % 5 < 3 ? "shared" : "exclusive"));
  const requests = modes.map((mode) => ({ mode }));
  await Promise.all([one, two].map((process) => process.call("requestMany", limitMs, "r", requests)));
  expect(wrong).toEqual([]);
  expect(fences).toHaveLength(2 * modes.length);
  expect(readersTogether).toBeGreaterThan(1);
});

test("steal takes a lock from all readers of another process, which learn of it, while that process waits for it", async () => {
  const { one, two, granted, fences, outcomes } = await start(["one", "two"], 6_000);
  const readers = [
    await one.call("request", limitMs, "s", { mode: "shared" }),
    await one.call("request", limitMs, "s", { mode: "shared" }),
  ];
  const held = await Promise.all(readers.map((reader) => granted(one, reader)));
  const writer = await one.call("request", limitMs, "s", {});
  const thief = await two.call("request", limitMs, "s", { steal: true });
  expect(await granted(two, thief)).toBeGreaterThan(Math.max(...held));
  for (const reader of readers) await expect.poll(() => outcomes.get(`one ${reader}`)).toBe("AbortError");
  expect(fences.has(`one ${writer}`)).toBe(false);
  const { held: holders, pending } = await one.call("query", limitMs);
  expect(holders).toEqual([{ name: "s", mode: "exclusive", clientId: "two" }]);
  expect(pending).toEqual([{ name: "s", mode: "exclusive", clientId: "one" }]);
  expect(await two.call("end", limitMs, thief)).toBe("done");
  await granted(one, writer);
  expect(await one.call("end", limitMs, writer)).toBe("done");
});

test("steal takes a lock from a process that is stopped, which learns of it when it goes on", async () => {
  const { one, two, granted, outcomes } = await start(["one", "two"], 60_000);
  const holder = await one.call("request", limitMs, "p", {});
  const fence = await granted(one, holder);
  one.pause();
  const thief = await two.call("request", limitMs, "p", { steal: true });
  expect(await granted(two, thief)).toBeGreaterThan(fence);
  expect(await two.call("end", limitMs, thief)).toBe("done");
  one.resume();
  const { held } = await one.call("query", limitMs);
  expect(held).toEqual([{ name: "p", mode: "exclusive", clientId: "one" }]); // until its next extension
  const again = await one.call("request", limitMs, "p", { steal: true });
  await granted(one, again);
  await expect.poll(() => outcomes.get(`one ${holder}`)).toBe("AbortError");
  expect(await one.call("end", limitMs, again)).toBe("done");
});

test("query() lists the readers of both processes, each under its clientId", async () => {
  const { one, two, granted } = await start(["one", "two"], 60_000);
  const readers: [WorkerProcess<Served>, number][] = [];
  for (const process of [one, two])
    readers.push([process, await process.call("request", limitMs, "q", { mode: "shared" })]);
  for (const [process, reader] of readers) await granted(process, reader);
  const { held, pending } = await one.call("query", limitMs);
  expect(pending).toEqual([]);
  expect(held).toEqual(["one", "two"].map((clientId) => ({ name: "q", mode: "shared", clientId })));
  for (const [process, reader] of readers) expect(await process.call("end", limitMs, reader)).toBe("done");
  expect(await two.call("query", limitMs)).toEqual({ held: [], pending: [] });
});
