import { Redlock, type RedlockOptions } from "@holdfast/core";
import { heal, type MembershipProgress, type MigrationOptions, migration } from "@holdfast/membership";
import { type MemoryNode, memoryNode } from "@holdfast/memory";
import { FaultyNode, VirtualClock } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { withWallClock } from "./wall-clock.ts";

/** Nodes with these names, a change between some of them, and clients of each stage. */
function change(old: string, next: string, generation = 0, options: Partial<MigrationOptions> = {}) {
  const clock = new VirtualClock();
  const names = [...new Set([...old, ...next])];
  const inner = new Map(names.map((name) => [name, memoryNode({ name, clock })]));
  const all = new Map([...inner].map(([name, node]) => [name, new FaultyNode(node, clock)]));
  const node = (name: string) => all.get(name) as FaultyNode;
  const set = { old: [...old].map(node), new: [...next].map(node) };
  const given = { clock, nodeTimeoutMs: 50, watchMs: 2_000, settleMs: 5_000, generation, ...options };
  const base = { clock, nodeTimeoutMs: 50, waitTimeoutMs: 0 };
  const lockOf = async (redlock: Redlock, resource = "r") => clock.until(redlock.acquire(resource));
  return {
    clock,
    node,
    inner: (name: string) => inner.get(name) as MemoryNode,
    steps: migration(set, given),
    floors: async (some: string) =>
      Promise.all([...some].map((name) => inner.get(name)?.raiseFloor({ floor: 0, epoch: 0, timeoutMs: 50 }))),
    clients: (more: RedlockOptions = {}) => ({
      old: new Redlock(set.old, { ...base, generation, label: "old", ...more }),
      joint: new Redlock(set, { ...base, generation, label: "joint", ...more }),
      new: new Redlock(set.new, { ...base, generation: generation + 1, label: "new", ...more }),
    }),
    lockOf,
    use: async (redlock: Redlock, resource = "r") => {
      const lock = await lockOf(redlock, resource);
      await clock.until(lock.release());
      return lock.fence;
    },
  };
}

const refused = { code: "MISCONFIGURED", cause: { code: "EPOCH" } };

describe("migration()", () => {
  it("begin(), join() and end() go on in no change that most of the new nodes have forgotten", async () => {
    const { clock, steps, node, clients, use } = change("abc", "def");
    await clock.until(steps.begin());
    await clock.until(steps.join());
    const nothing = { answer: { floor: 0, epoch: 0 } };
    for (const name of "ef") node(name).fault = ({ method }) => (method === "raiseFloor" ? nothing : undefined);
    expect(await clock.until(steps.status())).toMatchObject({ stage: "forgotten" });
    for (const step of ["begin", "join", "end"] as const) {
      const going = clock.until(steps[step]());
      await expect(going).rejects.toThrow(/^most of the new nodes do not know about the change, though others/);
    }
    expect(await use(clients().new)).toBeGreaterThan(0);
  });

  it.each([
    ["abc", "defgh"],
    ["abc", "abcde"],
    ["abcde", "abc"],
    ["abc", "cde"],
    ["a", "bcd"],
  ])("migration() leads from %s to %s, serves two stages at a time, and keeps tokens growing", async (old, next) => {
    const { clock, steps, clients, use } = change(old, next);
    const stage = clients();
    // The wall clocks of later clients stand far behind, so that only floors and counters keep their tokens growing.
    const early = clients({ clock: withWallClock(clock, 9_000_000) }).old;
    const late = clients({ clock: withWallClock(clock, 1_000) });
    expect(await steps.status()).toMatchObject({ stage: "none" });
    const fences = [await use(early), await use(early, "only-before")];
    expect(await clock.until(steps.begin())).toMatchObject({ stage: "begun" });
    await expect(use(stage.new)).rejects.toMatchObject(refused);
    fences.push(await use(stage.old, "other"), await use(late.joint));
    expect(await clock.until(steps.join())).toMatchObject({ stage: "joined" });
    await expect(use(stage.old)).rejects.toMatchObject(refused);
    fences.push(await use(late.joint), await use(late.new));
    expect(await clock.until(steps.end())).toMatchObject({ stage: "ended" });
    await expect(use(stage.joint)).rejects.toMatchObject(refused);
    fences.push(await use(late.new));
    const [r1, before, , r2, r3, r4, r5] = fences as [number, number, number, number, number, number, number];
    const growing = [r1, r2, r3, r4, r5];
    expect(growing).toEqual([...new Set(growing)].sort((a, b) => a - b));
    expect(await use(late.new, "only-before")).toBeGreaterThan(before);
  });

  it("migration() steps can be repeated, and each returns the status", async () => {
    const { clock, steps, floors } = change("abc", "def");
    for (let times = 0; times < 2; times++) await clock.until(steps.begin());
    expect(await floors("ad")).toEqual([
      { floor: 0, epoch: 2 },
      { floor: 0, epoch: 2 },
    ]);
    for (let times = 0; times < 2; times++) expect(await clock.until(steps.join())).toMatchObject({ stage: "joined" });
    expect(await clock.until(steps.begin())).toMatchObject({ stage: "joined" });
    for (let times = 0; times < 2; times++) expect(await clock.until(steps.end())).toMatchObject({ stage: "ended" });
    expect(await clock.until(steps.join())).toMatchObject({ stage: "ended" });
    expect((await floors("ad")).map((floor) => floor?.epoch)).toEqual([3, 5]);
  });

  it("join() and end() refuse to go before the steps before them", async () => {
    const { clock, steps } = change("abc", "def");
    await expect(clock.until(steps.join())).rejects.toThrow("could not join: the change has not begun");
    await expect(clock.until(steps.end())).rejects.toThrow("could not end: the clients have not joined");
    await clock.until(steps.begin());
    await expect(clock.until(steps.end())).rejects.toThrow("could not end: the clients have not joined");
  });

  it("join() names clients of the old stage that still lock, and refuses nobody then", async () => {
    const { clock, steps, clients, lockOf, use } = change("abc", "def");
    const { old } = clients();
    await clock.until(steps.begin());
    const lock = await lockOf(old, "jobs");
    const keeping = setIntervalOn(clock, 1_000, () => void lock.extend());
    const failure = clock.until(steps.join());
    await expect(failure).rejects.toMatchObject({
      code: "MEMBERSHIP",
      claims: [{ resource: "jobs", owner: lock.owner, label: "old", clients: "generation 0", nodes: ["a", "b", "c"] }],
    });
    await expect(failure).rejects.toThrow(
      "clients before generation 0 with both sets still lock: old of generation 0 holds jobs on a, b, c",
    );
    keeping();
    expect(await use(old, "other")).toBeGreaterThan(0);
    await clock.until(lock.release());
    expect(await clock.until(steps.join())).toMatchObject({ stage: "joined" });
  });

  it("join() sees a forgotten client that locks now and then", async () => {
    const { clock, steps, clients } = change("abc", "def");
    const { old } = clients();
    await clock.until(steps.begin());
    const visits = setIntervalOn(clock, 1_200, async () => {
      const lock = await old.acquire("jobs");
      clock.startTimer(600, () => void lock.release());
    });
    await expect(clock.until(steps.join())).rejects.toMatchObject({ code: "MEMBERSHIP", claims: [{ label: "old" }] });
    visits();
  });

  it("join() waits for an attempt of the old stage that became a lock while it refused them", async () => {
    const { clock, steps, clients, inner, node, lockOf } = change("abc", "def");
    await clock.until(steps.begin());
    const late: { fence?: number } = {};
    let locked = false;
    node("a").fault = ({ method, request }) => {
      if (method !== "raiseFloor" || (request as { epoch?: number }).epoch !== 3 || locked) return undefined;
      locked = true;
      const attempt = { resources: ["late"], owner: "0".repeat(32), ttlMs: 3_000, timeoutMs: 50 };
      for (const name of "ab") void inner(name).acquire({ ...attempt, fenceHint: 8e15 });
      return undefined;
    };
    await clock.until(steps.join());
    late.fence = (await inner("a").inspect("late")).fence;
    expect(locked).toBe(true);
    expect((await inner("a").inspect("late")).owner).toBeNull();
    expect((await lockOf(clients().new, "late")).fence).toBeGreaterThan(late.fence);
  });

  it("join() counts no node that has lost its memory since begin()", async () => {
    const { clock, steps, node, inner, lockOf, clients } = change("abc", "def");
    await clock.until(steps.begin());
    const claim = { resources: ["r"], owner: "0".repeat(32), ttlMs: 1, fenceHint: 8e15, timeoutMs: 50 };
    await inner("c").acquire(claim);
    const { fence } = await inner("c").inspect("r");
    await clock.advance(10);
    node("c").fault = () => ({ reject: new Error("down") });
    const empty = memoryNode({ name: "b", clock });
    node("b").fault = ({ method, request }) => ({
      answer: method === "scan" ? empty.scan(request as never) : empty.raiseFloor(request as never),
    });
    await expect(clock.until(steps.join())).rejects.toThrow(
      "could not join: 1 of 2 old nodes have kept what was written, 2 needed; heal b, and repeat this step",
    );
    expect(await empty.raiseFloor({ floor: 0, epoch: 0, timeoutMs: 50 })).toEqual({ floor: 0, epoch: 0 });
    node("c").fault = () => undefined;
    await clock.until(steps.join());
    expect(await empty.raiseFloor({ floor: 0, epoch: 0, timeoutMs: 50 })).toEqual({ floor: 0, epoch: 0 });
    expect((await lockOf(clients().new)).fence).toBeGreaterThan(fence);
  });

  it("join() counts no node that had lost its memory when it was read, although it was healed since", async () => {
    const { clock, steps, node, inner, lockOf, clients } = change("abc", "def");
    await clock.until(steps.begin());
    const claim = { resources: ["r"], owner: "0".repeat(32), ttlMs: 1, fenceHint: 8e15, timeoutMs: 50 };
    for (const name of "bc") await inner(name).acquire(claim);
    const { fence } = await inner("b").inspect("r");
    await clock.advance(10);
    node("c").fault = () => ({ reject: new Error("down") });
    const wrote = (name: string, epoch: number) =>
      node(name).calls.some(({ request }) => (request as { epoch?: number }).epoch === epoch);
    let isEmpty = false;
    node("b").fault = ({ method, request }) => {
      if (!isEmpty) {
        isEmpty = (request as { epoch?: number }).epoch === 3;
        return undefined;
      }
      if (method === "scan") return { answer: { counters: 0, highest: 0, claims: [] } };
      return { answer: wrote("d", 4) ? { floor: fence + 1, epoch: 3 } : { floor: 0, epoch: 0 } };
    };
    await expect(clock.until(steps.join())).rejects.toThrow(
      "could not join: 1 of 2 old nodes have kept what was written, 2 needed; heal b, and repeat this step",
    );
    for (const name of "bc") node(name).fault = () => undefined;
    await clock.until(steps.join());
    expect((await lockOf(clients().new)).fence).toBeGreaterThan(fence);
  });

  it("end() names joint clients that still lock", async () => {
    const { clock, steps, clients, lockOf } = change("abc", "def");
    await clock.until(steps.begin());
    await clock.until(steps.join());
    await lockOf(clients({ ttlMs: 60_000 }).joint, "jobs");
    await expect(clock.until(steps.end())).rejects.toThrow(
      "clients before generation 1 still lock: joint of generation 0 with both sets holds jobs on d, e, f",
    );
  });

  it("migration() goes on with a quorum of each set, and says which nodes are too few", async () => {
    const { clock, steps, node, floors } = change("abc", "def");
    for (const name of "ad") node(name).fault = () => ({ reject: new Error("down") });
    await clock.until(steps.begin());
    expect(await clock.until(steps.join())).toMatchObject({
      stage: "joined",
      nodes: [{ node: "a", floor: null }, {}, {}, {}, {}, {}],
    });
    node("e").fault = () => ({ reject: new Error("down") });
    const failure = clock.until(steps.end());
    await expect(failure).rejects.toThrow(
      "could not tell the stage: 1 of 3 new nodes replied, 2 needed; a failed: down; d failed: down; e failed: down",
    );
    for (const name of "ade") node(name).fault = () => undefined;
    expect(await clock.until(steps.end())).toMatchObject({ stage: "ended" });
    expect((await floors("def")).map((floor) => floor?.epoch)).toEqual([5, 5, 5]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("migration() refuses the generation of another change", async () => {
    const first = change("abc", "def");
    for (const step of ["begin", "join", "end"] as const) await first.clock.until(first.steps[step]());
    const nodes = { old: [..."def"].map(first.node), new: [..."abc"].map(first.node) };
    const options = { clock: first.clock, nodeTimeoutMs: 50, watchMs: 10 };
    const wrong = migration(nodes, options);
    await expect(first.clock.until(wrong.begin())).rejects.toThrow(
      "d serves clients of generation 1: the clients before this change cannot be of generation 0",
    );
    const back = migration(nodes, { ...options, generation: 1 });
    for (const step of ["begin", "join", "end"] as const) await first.clock.until(back[step]());
    expect(await back.status()).toMatchObject({ stage: "ended" });
  });

  it.each([
    ["abc", "abcde", "abc", "[de] serves clients of generation 1: the clients before this change cannot be of"],
    ["abc", "abd", "abc", "d serves clients of generation 1: the clients before this change cannot be of"],
    ["abc", "abde", "adef", "b serves clients of generation 1: the clients before this change cannot be of"],
    [
      "abc",
      "abd",
      "abde",
      "could not begin the change: the new nodes serve clients of generation 1 already. It has ended, or the clients before it are not of generation 0",
    ],
  ])(
    "begin() refuses to change %s to %s, and then to %s, with the generation forgotten",
    async (old, next, last, why) => {
      const { clock, steps, node } = change(old, next);
      for (const step of ["begin", "join", "end"] as const) await clock.until(steps[step]());
      const add = (name: string) => ((old + next).includes(name) ? node(name) : memoryNode({ name, clock }));
      const set = { old: [...next].map(add), new: [...last].map(add) };
      const options = { clock, nodeTimeoutMs: 50, watchMs: 10 };
      await expect(clock.until(migration(set, options).begin())).rejects.toThrow(new RegExp(why));
      const later = migration(set, { ...options, generation: 1 });
      for (const step of ["begin", "join", "end"] as const) await clock.until(later[step]());
      expect(await later.status()).toMatchObject({ stage: "ended" });
    },
  );

  it("begin() refuses the generation after a change that has not ended, and goes on serving clients", async () => {
    const { clock, steps, inner, floors, use, clients } = change("abc", "def", 1);
    for (const name of "abc") await inner(name).raiseFloor({ floor: 0, epoch: 4, timeoutMs: 50 });
    await expect(clock.until(steps.begin())).rejects.toThrow(
      "the old nodes serve clients of generation 0 with both sets and of generation 1: the clients before this change " +
        "cannot all be of generation 1 yet",
    );
    expect((await floors("abcdef")).map((floor) => floor?.epoch)).toEqual([4, 4, 4, 0, 0, 0]);
    for (const name of "ab") await inner(name).raiseFloor({ floor: 0, epoch: 5, timeoutMs: 50 });
    expect(await clock.until(steps.begin())).toMatchObject({ stage: "begun" });
    expect(await use(clients().old)).toBeGreaterThan(0);
  });

  it("migration() refuses a generation that the nodes do not serve yet, and raises nothing", async () => {
    const { clock, steps, node, floors } = change("abc", "abcde");
    const at = (generation: number) => {
      return migration(
        { old: [..."abcde"].map(node), new: [..."abc"].map(node) },
        { clock, nodeTimeoutMs: 50, watchMs: 10, generation },
      );
    };
    for (const step of ["begin", "join"] as const) await clock.until(steps[step]());
    const early = "of generation 1: the clients before this change cannot all be of generation 1 yet";
    await expect(clock.until(at(1).begin())).rejects.toThrow(early);
    await clock.until(steps.end());
    const skipping = "serve clients of generation 1: the clients before this change cannot all be of generation 2 yet";
    await expect(clock.until(at(2).begin())).rejects.toThrow(skipping);
    expect((await floors("abcde")).map((floor) => floor?.epoch)).toEqual([5, 5, 5, 5, 5]);
    expect(await clock.until(at(1).begin())).toMatchObject({ stage: "begun" });
  });

  it("migration() names nodes in the order of the sets, whichever replies first", async () => {
    const { clock, steps, node, clients, lockOf } = change("abc", "def");
    await clock.until(steps.begin());
    await lockOf(clients({ ttlMs: 60_000 }).old, "jobs");
    node("a").fault = () => ({ replyMs: 20 });
    await expect(clock.until(steps.join())).rejects.toMatchObject({ claims: [{ nodes: ["a", "b", "c"] }] });
  });

  it("migration() goes on after a node of the old set alone was healed from nodes of both", async () => {
    const { clock, steps, node } = change("abc", "bcdef");
    const nodes = { old: [..."abc"].map(node), new: [..."bcdef"].map(node) };
    await clock.until(steps.begin());
    await clock.until(steps.join());
    expect(await clock.until(heal(nodes, "a", { clock, settleMs: 0 }))).toMatchObject({ epoch: 4 });
    expect(await clock.until(steps.end())).toMatchObject({ stage: "ended" });
    expect(await steps.status()).toMatchObject({ stage: "ended" });
  });

  for (const next of ["abdei", "abde"]) {
    it(`migration() from abcde to ${next} has ended although the only node that left was healed after that`, async () => {
      const { clock, steps, node } = change("abcde", next);
      const nodes = { old: [..."abcde"].map(node), new: [...next].map(node) };
      for (const step of ["begin", "join", "end"] as const) await clock.until(steps[step]());
      expect(await clock.until(heal(nodes, ["b", "c"], { clock, settleMs: 0 }))).toMatchObject({ epoch: 4 });
      expect((await steps.status()).nodes.map(({ floor }) => floor?.epoch).slice(0, 5)).toEqual([5, 5, 4, 5, 5]);
      expect(await clock.until(steps.end())).toMatchObject({ stage: "ended" });
    });
  }

  it("heal() refuses a generation that the change cannot have, and keeps the stage that the nodes are at", async () => {
    const { clock, steps, node, floors } = change("abc", "abd");
    for (const step of ["begin", "join", "end"] as const) await clock.until(steps[step]());
    const second = { old: [..."abd"].map(node), new: [..."ab"].map(node) };
    const forgotten = clock.until(heal(second, "a", { clock, settleMs: 0 }));
    const reason = "d serves clients of generation 1: the clients before this change cannot be of generation 0";
    await expect(forgotten).rejects.toThrow(reason);
    expect(await clock.until(heal(second, "d", { clock, settleMs: 0, generation: 1 }))).toMatchObject({ epoch: 5 });
    expect((await floors("abd")).map((floor) => floor?.epoch)).toEqual([5, 5, 5]);
  });

  it("migration() reports what it reads and for what it waits", async () => {
    const progress: MembershipProgress[] = [];
    const { clock, steps } = change("abc", "def", 0, { onProgress: (event) => void progress.push(event) });
    await clock.until(steps.begin());
    await clock.until(steps.join());
    expect(new Set(progress.map(({ doing }) => doing))).toEqual(new Set(["reading", "waiting"]));
    const waits = progress.flatMap((event) => (event.doing === "waiting" ? event.leftMs : []));
    expect(waits).toEqual([...waits].sort((a, b) => b - a));
  });

  it("migration() refuses bad arguments", () => {
    const set = { old: [memoryNode()], new: [memoryNode()] };
    expect(() => migration(set, { watch: 5 } as MigrationOptions)).toThrow("watch is not an option of migration");
    expect(() => migration(set, { watchMs: 0 })).toThrow("watchMs must be a positive integer");
    expect(() => migration(set, { generation: -1 })).toThrow("generation must be a non-negative integer below 2^50");
    expect(() => migration(set, { generation: "1" as never })).toThrow("generation must be a number, not a string");
    expect(() => migration(set.old as never)).toThrow("set must have the fields old and new");
    expect(() => migration({ old: [set.old[0], set.old[0]] as never, new: set.new })).toThrow(
      "old and their names must be distinct: two are called memory",
    );
    expect(() => migration({ old: [], new: set.new })).toThrow("old must be a list of at least one lock node");
  });
});

/** Calls `act` again and again, until the returned function is called. */
function setIntervalOn(clock: VirtualClock, everyMs: number, act: () => unknown): () => void {
  let cancel = () => {};
  const next = () => {
    cancel = clock.startTimer(everyMs, () => {
      act();
      next();
    });
  };
  next();
  return () => cancel();
}
