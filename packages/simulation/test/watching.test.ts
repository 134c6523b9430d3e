import { memoryNode } from "@holdfast/memory";
import type { Fault } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { Recorder } from "../src/history/recorder.ts";
import { Dice } from "../src/scenario/dice.ts";
import { complete } from "../src/scenario/scenario.ts";
import { ClientProcess } from "../src/world/client-process.ts";
import { Connection } from "../src/world/connection.ts";
import { inject } from "../src/world/inject.ts";
import { Network } from "../src/world/network.ts";
import { NodeHost } from "../src/world/node-host.ts";
import { World } from "../src/world/world.ts";

/**
 * Returns what client 1, which watches `stock` on node A from 0 on, learns when client 2 releases it at 100 and 200.
 */
async function heardUnder(
  faults: readonly Fault[],
  { unwatchAtMs = Infinity, isOrdered = true, isWaiting = false } = {},
) {
  const world = new World();
  const recorder = new Recorder(() => {}, false);
  const { settings } = complete({ clients: [], settings: { keepsOrder: isOrdered } });
  const network = new Network(world, recorder, settings);
  const host = new NodeHost(world, "A", ({ name, clock }) => memoryNode({ name, clock }), new Dice(1), settings);
  const [watcher, other] = ["client 1", "client 2"].map((name) => new ClientProcess(world, name, new Dice(2)));
  if (!watcher || !other) throw new Error("two clients");
  const clients = new Map([watcher, other].map((process) => [process.name, process]));
  for (const fault of faults) inject(fault, { world, network, clients, hosts: new Map([["A", host]]) });
  const watching = new Connection(watcher, host, network, faults);
  const releasing = new Connection(other, host, network, []);

  const heardAtMs: number[] = [];
  const named: string[] = [];
  let answer = "nothing";
  watcher.receive(0, () => {
    watching
      .watch?.(["stock"], (_, next) => {
        heardAtMs.push(world.nowMs);
        if (next !== undefined) named.push(next);
      })
      .then(
        (unwatch) => {
          answer = "watching";
          if (unwatchAtMs < Infinity) watcher.receive(unwatchAtMs, () => void unwatch().then(() => (answer = "ended")));
        },
        (error: Error) => (answer = error.message),
      );
  });
  for (const atMs of [100, 200]) {
    const claim = { resources: ["stock"], owner: `owner ${atMs}`, timeoutMs: 50 };
    other.receive(atMs - 50, () => void releasing.acquire({ ...claim, ttlMs: 1000, fenceHint: 1 }));
    other.receive(atMs, () => void releasing.release(claim));
  }
  if (isWaiting) {
    const claim = { resources: ["stock"], owner: "in vain", waiter: "0123abcd", timeoutMs: 50 };
    watcher.receive(75, () => void watching.acquire({ ...claim, ttlMs: 1000, fenceHint: 1 }));
  }
  await world.runUntil(10_000);
  const open = [...host.watches].map(({ client, isExcused }) => `${client}${isExcused ? ", excused" : ""}`);
  const { faults: struck, notifications, turns } = recorder;
  return { heardAtMs, answer, open, struck: struck.length, notifications, turns, named };
}

const fromA = { client: "client 1", node: "A" };

describe("a watch", () => {
  it("a watch notifies of each release after one message's latency, until it ends", async () => {
    const told = { heardAtMs: [102, 202], answer: "watching", open: ["client 1"], struck: 0, notifications: 2 };
    expect(await heardUnder([])).toMatchObject(told);
    expect(await heardUnder([], { unwatchAtMs: 150 })).toMatchObject({ heardAtMs: [102], answer: "ended", open: [] });
  });

  it("a watch names the next waiter by the name that its client knows", async () => {
    expect(await heardUnder([])).toMatchObject({ named: [], turns: 0 });
    expect(await heardUnder([], { isWaiting: true })).toMatchObject({ named: ["0123abcd"], turns: 1 });
  });

  it("a lost notification never arrives, and a repeated one arrives twice", async () => {
    expect(await heardUnder([{ kind: "lost notification", ...fromA, notification: 1 }])).toMatchObject({
      ...{ heardAtMs: [202], struck: 1 },
    });
    expect(await heardUnder([{ kind: "repeated notification", ...fromA, notification: 2, afterMs: 30 }])).toMatchObject(
      {
        ...{ heardAtMs: [102, 202, 232], struck: 1, notifications: 3 },
      },
    );
  });

  it("a late notification delays the next one only on a connection that keeps the order", async () => {
    const late: Fault = { kind: "late notification", ...fromA, notification: 1, byMs: 300 };
    expect((await heardUnder([late])).heardAtMs).toEqual([402, 402]);
    expect((await heardUnder([late], { isOrdered: false })).heardAtMs).toEqual([202, 402]);
  });

  it("a failed watch rejects or never settles, and notifies of nothing", async () => {
    const failed = (isSilent: boolean): Fault[] => [{ kind: "failed watch", ...fromA, watch: 1, isSilent }];
    expect(await heardUnder(failed(false))).toMatchObject({ heardAtMs: [], answer: "the watch failed", open: [] });
    expect(await heardUnder(failed(true))).toMatchObject({ heardAtMs: [], answer: "nothing", open: [], struck: 1 });
  });

  it("a broken watch and a node crash end notifications without telling the client", async () => {
    const silence = { heardAtMs: [102], answer: "watching", open: [], struck: 1 };
    expect(await heardUnder([{ kind: "broken watch", ...fromA, atMs: 150 }])).toMatchObject(silence);
    const crash: Fault = { kind: "node crash", node: "A", atMs: 120, forMs: 10, memory: "kept", isSilent: true };
    expect(await heardUnder([crash])).toMatchObject(silence);
  });

  it("a broken watch strikes only an existing watch", async () => {
    expect(await heardUnder([{ kind: "broken watch", client: "client 2", node: "A", atMs: 150 }])).toMatchObject({
      ...{ heardAtMs: [102, 202], struck: 0 },
    });
  });

  it("a partition drops notifications, and excuses a watch whose end is lost", async () => {
    const cut = (part: "requests" | "replies", atMs: number): Fault => {
      return { kind: "partition", clients: ["client 1"], nodes: ["A"], part, atMs, forMs: 60 };
    };
    expect(await heardUnder([cut("replies", 90)])).toMatchObject({ heardAtMs: [202], open: ["client 1"] });
    expect(await heardUnder([cut("replies", 0)])).toMatchObject({ answer: "nothing", open: ["client 1, excused"] });
    expect(await heardUnder([cut("requests", 140)], { unwatchAtMs: 150 })).toMatchObject({
      ...{ answer: "watching", open: ["client 1, excused"] },
    });
  });

  it("a client crash leaves no watch, even if its request is in flight", async () => {
    const crash = (atMs: number): Fault[] => [{ kind: "client crash", client: "client 1", atMs }];
    expect(await heardUnder(crash(150))).toMatchObject({ heardAtMs: [102], open: [] });
    expect(await heardUnder(crash(0.5))).toMatchObject({ heardAtMs: [], open: [] });
  });
});
