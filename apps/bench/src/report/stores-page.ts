/** The report of a run over single stores. */
import type { Contender } from "../contenders/contender.ts";
import { inStores, storePairs } from "../contenders/index.ts";
import type { Recording } from "../record.ts";
import { storeWorkloads } from "../workloads/index.ts";
import { ownNames } from "../workloads/stores.ts";
import { cellTable, machinePart, meaningsOf, originText, tablesPart, textOfParts } from "./page.ts";
import { type MeasuredCell, measuredCells } from "./summary.ts";
import { medianText, ratioText, tableText, wrapped } from "./text.ts";

/** The report, as Markdown. */
export function storesPageOf(recording: Recording): string {
  const { slices, machine } = recording;
  return textOfParts([
    `${introduction}\n\n${originText(recording)}`,
    ...overview(measuredCells(ownNames, slices)),
    promises,
    ...storeWorkloads.flatMap((workload) => tablesPart(workload, slices, tableOf)),
    method,
    meaningsOf(storeWorkloads),
    machinePart(machine),
  ]);
}

const introduction = `# Benchmark of single stores: what does a lock cost in the store that I have?

\`new Redlock([node])\` over one PostgreSQL, etcd, SQLite or Redis, and beside each the usual way to lock there, in
one run. Figures are medians over its rounds, with quartiles in brackets; ratios are those of medians. Absolute figures depend on the machine, and above all on its disk. [Choose a store](../guarantees.md) by what it guarantees
first.`;

function overview(cells: readonly MeasuredCell[]): string[] {
  if (cells.length === 0) return [];
  const [measure] = ownNames.columns;
  const rows = storePairs.map(({ title, holdfast, other }) => [
    `**${title}**`,
    ...cells.map(({ value, ratio }) => {
      const pairs = medianText(value(holdfast.name, measure), measure);
      return `${pairs} · ${ratioText(ratio(holdfast.name, other.name, measure))}`;
    }),
  ]);
  const names = storePairs.map(({ title, other }) => `${title}: ${other.name}`).join("; ");
  return [
    "## At a glance",
    wrapped(
      `Pairs of acquire and release in a second with Holdfast, and their ratio to the usual way to lock with that store ` +
        `(${names}). *Synced* means that each claim is on the disk before the call returns.`,
    ),
    tableText(["Holdfast, pairs/s · ratio", ...cells.map(({ cell }) => cell.name)], rows),
  ];
}

/** Holdfast and the other way for each store, with their ratio. */
function tableOf(measured: MeasuredCell): string {
  const { workload, contenders, ratio } = measured;
  const ratios = {
    title: "÷ the other",
    of(contender: Contender): string {
      const pair = storePairs.find(({ holdfast }) => holdfast === contender);
      return pair === undefined ? "" : ratioText(ratio(contender.name, pair.other.name, workload.columns[0]));
    },
  };
  const hasRatio = storePairs.some(({ other }) => contenders.includes(other));
  const inPairs = inStores.filter((contender) => contenders.includes(contender));
  return cellTable(measured, inPairs, hasRatio ? [ratios] : []);
}

const promises = `## What each lock gives

Holdfast writes a claim with an owner, an end and a fencing token, and the others write less. The ratios are the price
of the difference.

| lock | fencing token | ends without its holder | kept through a crash of the server | waits |
| --- | --- | --- | --- | --- |
| **Holdfast** | for each lock | after its ttl, unless extended | yes, if synced | for a notification; first come, first served, except with etcd |
| pg_advisory_lock | no | when PostgreSQL notices the end of the connection | no, and nothing is written | in a queue of the server; a connection for each holder and each waiter |
| etcd lock service | no; the revision of its key grows, too | when its lease is not kept alive | yes, if synced | in a queue of the server |
| proper-lockfile | no | after ten seconds without an update | nothing is synced | polling |
| SET NX, polling | no | after its ttl | yes, if synced | polling |`;

const method = `## Method

- **Interleaved.** In each round of a cell, all contenders are measured, one after another in a random order. [How the benchmark measures](../benchmark/method.md) describes the warm-up of processes, the idle
  loops that keep the cores awake, and how slices that other processes disturbed are repeated; all of that holds here,
  too.
- **One machine.** Client and server share its cores, without a network between them. A store on another machine adds
  a round trip to each acquire and to each release, for Holdfast and for the other way alike.
- **Synced:** PostgreSQL with \`fsync\` and \`synchronous_commit\` on, etcd and SQLite with their files on the disk,
  Redis with \`appendfsync always\`. **Not synced:** PostgreSQL with both off, etcd and SQLite with their files in
  \`/dev/shm\` (etcd has an option for it only from 3.5 on), Redis without a log. Advisory locks and proper-lockfile
  sync nothing in either case.
- **Clients.** \`pg\` with a pool of 16 open connections, one gRPC channel, \`libsql\`, ioredis. Everything else is at
  its defaults. The ttl is ten seconds.
- **etcd's lock service** gets leases that are granted once and used for one lock after another. A new lease for each
  lock would add two writes. Its waiters watch from a past revision, and etcd serves such watches every 100 ms.
- **Names** were locked before. The first lock of a name inserts a row or a key and takes longer in PostgreSQL, etcd
  and SQLite.
- **Processor time** of a server is that of its processes in \`/proc\`, such as all backends of PostgreSQL, kernel
  time included. What the kernel does later to write to the disk is not. SQLite and proper-lockfile have no server:
  they work in the client, and SQLite blocks its event loop for as long as a call takes.`;
