/** Histories of real locks over nodes with faults, on a virtual clock. */
import { type Clock, type Lock, Redlock } from "@holdfast/core";
import { semaphore } from "@holdfast/core/semaphore";
import { checkHistory, type HistoryRecorder, recordHistory } from "@holdfast/history";
import { memoryNode } from "@holdfast/memory";
import { drawFrom, FaultyNode, fuzzSeed, isNightly, VirtualClock } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { written } from "./histories.ts";

fc.configureGlobal({ seed: fuzzSeed, numRuns: isNightly ? 200 : 15 });

/** A process, until it crashes. */
interface Process {
  readonly name: number;
  readonly lines: Record<string, unknown>[];
  readonly history: HistoryRecorder;
  readonly redlock: Redlock;
  readonly nodes: readonly FaultyNode[];
  readonly locks: Set<Lock>;
  /** The owners of its shared locks, which write nothing. */
  readonly shared: ReadonlySet<unknown>;
  isCrashed: boolean;
}

/** Draws an integer from 0 to below a bound. */
type Draw = (bound: number) => number;

/** Processes that do what locks allow, with a storage that checks tokens. */
class System {
  readonly clock = new VirtualClock();
  readonly #nodes = Array.from({ length: 3 }, () => memoryNode({ clock: this.clock }));
  readonly #ended: Process[] = [];
  readonly #processes: Process[];
  readonly #tickets: string[] = [];
  readonly #draw: Draw;
  readonly #offsetsMs: readonly number[];
  readonly #values = new Map<string, { value: string; fence: number }>();
  #writes = 0;

  constructor(draw: Draw, offsetsMs: readonly number[]) {
    this.#draw = draw;
    this.#offsetsMs = offsetsMs;
    this.#processes = offsetsMs.map((_, name) => this.#start(name));
  }

  #start(name: number): Process {
    const { clock } = this;
    const draw = this.#draw;
    const own: Clock = {
      monotonicMs: clock.monotonicMs,
      wallMs: () => clock.wallMs() + (this.#offsetsMs[name] ?? 0),
      startTimer: clock.startTimer,
      afterPendingIo: clock.afterPendingIo,
    };
    const lines: Record<string, unknown>[] = [];
    const shared = new Set<unknown>();
    const startMs = clock.monotonicMs();
    const history = recordHistory(
      (text) => {
        const line = JSON.parse(text) as Record<string, number>;
        if (line.mode === ("shared" as never)) shared.add(line.owner);
        const shiftMs = startMs - Number(lines[0]?.realMs ?? line.atMs);
        const machine = this.#offsetsMs.some((ms) => ms > 0) ? `machine ${name}` : "machine";
        const fromMs = line.fromMs === undefined ? {} : { fromMs: line.fromMs + shiftMs };
        const started = line.event === ("started" as never) ? { machine, realMs: line.atMs } : {};
        lines.push({ ...line, atMs: Number(line.atMs) + shiftMs, ...fromMs, ...started });
      },
      { process: `p${name}`, clock: own },
    );
    const nodes = this.#nodes.map((node) => new FaultyNode(node, clock));
    for (const node of nodes) {
      node.fault = () =>
        draw(12) === 0 ? { lose: draw(2) === 0 ? "request" : "reply" } : { requestMs: draw(9), replyMs: draw(9) };
    }
    const redlock = new Redlock(nodes, { clock: own, observer: history.observer, ttlMs: 100, waitTimeoutMs: 60 });
    return { name, lines, history, redlock, nodes, locks: new Set(), shared, isCrashed: false };
  }

  /** Starts something, and lets time pass. Most of what fails is expected to. */
  async step(): Promise<void> {
    const draw = this.#draw;
    const process = this.#processes[draw(this.#processes.length)] as Process;
    const { redlock, locks } = process;
    const lock = [...locks][draw(Math.max(1, locks.size))];
    const keep = (other: Lock): unknown => locks.add(other);
    const actions = [
      () =>
        redlock
          .acquire([["a"], ["b"], ["a", "b"]][draw(3)] ?? [], { mode: draw(3) === 0 ? "shared" : "exclusive" })
          .then(keep),
      () => redlock.acquire("a", { autoExtend: true, maxHoldMs: 500 } as never).then(keep),
      () => semaphore(redlock, "s", 2).tryAcquire(),
      () => lock?.extend({ ttlMs: 50 + draw(100) } as never),
      () => lock?.release(),
      () => lock && this.#update(process, lock),
      () => lock && this.#update(process, lock),
      () => lock?.transfer({ withinMs: 50 }).then((ticket) => this.#tickets.push(ticket)),
      () => redlock.adopt(this.#tickets.pop() ?? "none").then(keep),
      () => draw(8) === 0 && this.#crash(process),
    ];
    void Promise.resolve()
      .then(actions[draw(actions.length)])
      .catch(() => {});
    await this.clock.advance(draw(4) === 0 ? draw(120) : draw(20));
  }

  /** Returns the files, after all has ended. */
  async files(): Promise<string[]> {
    await this.clock.advance(5_000);
    return [...this.#ended, ...this.#processes].map(({ lines }) =>
      lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    );
  }

  /** Reads and writes the value under a lock, whether or not it is still held. */
  async #update(process: Process, { fence, owner, resources }: Lock): Promise<void> {
    const [resource = ""] = resources;
    if (process.shared.has(owner)) return;
    const cell = this.#values.get(resource) ?? { value: "first", fence: 0 };
    this.#values.set(resource, cell);
    const arrive = (): Promise<void> => new Promise((resolve) => this.clock.deliver(this.#draw(30), resolve));
    const isNew = (): boolean => {
      if (fence < cell.fence) return false;
      cell.fence = fence;
      return true;
    };
    const access = async <Result>(act: () => Result): Promise<Result> => {
      await arrive();
      const result = act();
      await arrive();
      return result;
    };
    await process.history.read(resource, { fence }, () =>
      access(() => {
        if (!isNew()) throw new Error("refused");
        return cell.value;
      }),
    );
    const value = `v${++this.#writes}`;
    if (process.isCrashed) return;
    await process.history.write(resource, value, { fence }, () =>
      access(() => {
        const isWritten = isNew();
        if (isWritten) cell.value = value;
        if (this.#draw(9) === 0) throw new Error("no answer");
        return isWritten;
      }),
    );
  }

  /** Kills a process, whose last requests may arrive late, and starts it again. */
  #crash(process: Process): void {
    process.isCrashed = true;
    process.history.close();
    for (const node of process.nodes) node.fault = () => ({ lose: "request" });
    this.#ended.push(process);
    this.#processes[process.name] = this.#start(process.name);
  }
}

describe("checkHistory()", () => {
  test.each([
    ["on one machine", [0, 0, 0]],
    ["on three machines", [0, 20, 7]],
  ])("checkHistory() blames no real locks %s", { timeout: 600_000 }, async (_, offsetsMs) => {
    let locks = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat(), async (seed) => {
        const system = new System(drawFrom(seed), offsetsMs);
        for (let step = 0; step < 150; step++) await system.step();
        const verdict = await checkHistory(await written(await system.files()), { clocksDifferMs: 20 });
        expect(verdict).toMatchObject({ verdict: "correct", findings: [] });
        locks += verdict.locks;
      }),
    );
    expect(locks).toBeGreaterThan(100);
  });
});
