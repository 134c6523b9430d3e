/** `pnpm chaos --soak`: locks at full speed, without faults; see README.md. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { Task } from "../client/messages.ts";
import { hows } from "../client/ways.ts";
import { startJournal } from "../history/journal.ts";
import { names } from "../names.ts";
import { adapterFile, adapters, type ChaosOptions } from "../options.ts";
import { startWorld, type World } from "../world/world.ts";
import { judgeRound } from "./judge.ts";
import { describeClaims, tracesLeft } from "./traces.ts";

/** Between two drains. The locks of a round are kept until they are checked. */
const roundMaxMs = 15_000;

/** A wait counts as hung after this time, in milliseconds. */
const hangMs = 20_000;

/** How long the tasks may take to end, in milliseconds. They wait only for others that end, too. */
const drainMs = 30_000;

/** How long anything else may take, in milliseconds. */
const patienceMs = 30_000;

/** How much the heap of a client may grow from the first round to the last one: room for code that is compiled late. */
const growthMaxMb = 3;

/** Each of these must have happened. */
const wanted = [...hows.map((how) => `by ${how}`), "of several resources", "nested", "extended", "given up"];

/** Lets clients wait for overlapping sets of resources, and resolves with whether nothing was violated, and nothing is left. */
export async function soak({ seconds, seed }: ChaosOptions, cleanup: Cleanup): Promise<boolean> {
  // Generous: a machine that is busy with something else must not count as a finding.
  const redlock = { ttlMs: 30_000, nodeTimeoutMs: 5_000, waitTimeoutMs: Number.POSITIVE_INFINITY };
  const world = await startWorld(
    {
      ...{ nodes: names("n", 5), serverArgs: [], clocks: false, proxied: false, clients: 3 },
      adapters: [...adapters, adapterFile("memory")],
      orderOf: () => ({ redlock }),
    },
    cleanup,
  );
  const problems = await Promise.race([runRounds(world, seconds * 1_000, seed), world.broken]);
  console.log(`seed        ${seed}`);
  console.log(problems.length === 0 ? "Nothing was violated." : problems.map((what) => `VIOLATED: ${what}`).join("\n"));
  return problems.length === 0;
}

async function runRounds(world: World, durationMs: number, seed: number): Promise<string[]> {
  const { clients } = world;
  const servers = world.nodes.map(({ server }) => server);
  const stage = { generation: 0, sets: [world.nodes.map(({ name }) => name)] as const, restartGuardMs: 0 };
  const rounds = Math.max(2, Math.ceil(durationMs / roundMaxMs));
  const heapsMb: number[][] = [];
  const problems: string[] = [];
  const last = new Map();
  let locks = 0;
  let longestWaitMs = 0;
  for (let round = 0; round < rounds && problems.length === 0; round++) {
    const journal = startJournal();
    world.reports.on("message", journal.hear);
    await Promise.all(
      clients.map((client, index) => client.work(stage, tasksOf(index, seed + rounds * index + round))),
    );
    const hang = await drain(world, durationMs / rounds);
    world.reports.off("message", journal.hear);
    if (hang.length > 0) return ["clients hang", ...hang, ...(await describeClaims(servers))];
    problems.push(...judgeRound(journal, last));
    locks += journal.visits.length;
    longestWaitMs = journal.granted.reduce((longest, { waitedMs }) => Math.max(longest, waitedMs), longestWaitMs);
    problems.push(...(await tracesLeft("claims are left", servers)));
    problems.push(...(await tracesLeft("subscriptions are left", servers)));
    heapsMb.push(await Promise.all(clients.map((client) => client.call("heapMb", patienceMs))));
  }
  const deeds = await Promise.all(clients.map((client) => client.call("deeds", patienceMs)));
  const counts = wanted.map((what) => [deeds.reduce((sum, of) => sum + (of.get(what) ?? 0), 0), what] as const);
  problems.push(...counts.flatMap(([count, what]) => (count === 0 ? [`no lock was ${what}`] : [])));
  problems.push(...(await tracesLeft("keys stay", servers)));
  for (const client of clients) problems.push(...(await client.leave()));
  problems.push(...(await tracesLeft("connections are left", servers)));
  const grownMb = clients.map((_, index) => (heapsMb.at(-1)?.[index] as number) - (heapsMb[0]?.[index] as number));
  if (Math.max(...grownMb) > growthMaxMb)
    problems.push(`the heap of a client has grown by more than ${growthMaxMb} MB`);
  console.log(
    `locks       ${locks.toLocaleString("en")}; the longest wait took ${(longestWaitMs / 1_000).toFixed(2)} s`,
  );
  console.log(`            ${counts.map((count) => count.join(" ")).join(", ")}`);
  const growth = grownMb.map((mb) => `${mb.toFixed(1)} MB`).join(", ");
  console.log(`heap        grown by ${growth} since the first of ${rounds} rounds (at most ${growthMaxMb} MB)`);
  return problems;
}

/** Tasks that want the same few resources, and others that find most of theirs free, and hold them for a moment. */
function tasksOf(index: number, seed: number): readonly Task[] {
  const isMemory = index === adapters.length;
  const usual = { extendEvery: 4, restMs: [0, 0] as const };
  const kinds = [
    {
      ...{ ...usual, resources: names(isMemory ? "memory:" : "shared:", 8), dwellMs: [0, 4] as const },
      ...{ mixed: { patienceMaxMs: 40 }, count: 16 },
    },
    {
      ...{ ...usual, resources: names(`free:${index}:`, 500).sort(), dwellMs: [0, 0] as const },
      ...{ mixed: { patienceMaxMs: 0 }, count: 4 },
    },
  ];
  return kinds
    .flatMap(({ count, ...kind }) => Array.from({ length: count }, () => kind))
    .map((kind, number) => ({ ...kind, seed: seed * 1_000 + number }));
}

/** Lets all clients work for that time, and then end. If they hang, resolves with a description of what they are doing. */
async function drain({ clients }: World, ms: number): Promise<string[]> {
  const hang = async (limitMs: number): Promise<string[]> =>
    (await Promise.all(clients.map((client) => client.call("hang", patienceMs, limitMs)))).flat();
  const stopAtMs = performance.now() + ms;
  while (performance.now() < stopAtMs) {
    await sleep(Math.min(500, stopAtMs - performance.now()));
    const found = await hang(hangMs);
    if (found.length > 0) return found;
  }
  const drained = Promise.all(clients.map((client) => client.stop())).then(() => "drained");
  const end = await Promise.race([drained, sleep(drainMs, "late")]);
  return end === "drained" ? [] : hang(0);
}
