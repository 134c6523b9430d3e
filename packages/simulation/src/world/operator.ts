import type { JointSet } from "@holdfast/core";
import type { Recorder } from "../history/recorder.ts";
import type { Dice } from "../scenario/dice.ts";
import type { Fault, NodeCrash } from "../scenario/fault.ts";
import { slowest } from "../scenario/fault-times.ts";
import {
  epochAfter,
  epochsPerStage,
  type FullScenario,
  generationAt,
  lastEpoch,
  longestTtlMs,
  operatorName,
  quorumOf,
  setsAt,
} from "../scenario/scenario.ts";
import { ClientProcess } from "./client-process.ts";
import type { Network } from "./network.ts";
import type { NodeHost, OpenLoss } from "./node-host.ts";
import type { StagedClient } from "./staged-client.ts";
import { ToolConnection } from "./tool-connection.ts";
import type { Tools } from "./tools.ts";
import { phase, type World } from "./world.ts";

/** What an operator works with. */
export interface OperatorParts {
  readonly world: World;
  readonly network: Network;
  readonly recorder: Recorder;
  readonly scenario: FullScenario;
  readonly hosts: readonly NodeHost[];
  readonly clients: readonly StagedClient[];
  readonly dice: Dice;
  readonly tools: Tools;
  /** Called with each process that the operator starts. */
  readonly onProcess: (process: ClientProcess) => void;
}

/** A node to heal. */
interface Patient {
  readonly host: NodeHost;
  readonly loss: OpenLoss;
  /** When to begin. */
  readonly fromMs: number;
}

const steps = ["begin", "join", "end"] as const;

/**
 * The operator of a world, who changes the set of nodes and heals nodes, with the tools of core over the network. Each
 * tool is run again until it succeeds. When the process in which the tools run crashes, another one goes on from what the
 * operator has noted.
 */
export class Operator {
  readonly #parts: OperatorParts;
  readonly #patients = new Set<Patient>();
  readonly #pollMs: number;
  readonly #changes: number;
  #process: ClientProcess;
  #connections: ReadonlyMap<string, ToolConnection> = new Map();
  #lives = 0;
  /** How many steps of changes have succeeded. */
  #steps = 0;
  /** Whether a change has begun and not ended. */
  #isChanging = false;
  #doneAtMs: number | undefined;
  #onDone: (() => void) | undefined;

  /** @param parts what the operator works with */
  constructor(parts: OperatorParts) {
    this.#parts = parts;
    this.#pollMs = Math.max(1, parts.scenario.settings.ttlMs / 20);
    this.#changes = (parts.scenario.membership?.sets.length ?? 1) - 1;
    this.#process = this.#start(0);
  }

  /** The process in which the tools run at present. */
  get process(): ClientProcess {
    return this.#process;
  }

  /** Whether all changes have ended, and all nodes are healed. */
  get isDone(): boolean {
    return this.#steps === steps.length * this.#changes && this.#patients.size === 0;
  }

  /** How many steps are done, and which nodes still have to be healed, as text. */
  get state(): string {
    const nodes = [...this.#patients].map(({ host }) => host.name).join(", ") || "none";
    return `${this.#steps} of ${steps.length * this.#changes} steps are done, nodes to heal: ${nodes}`;
  }

  /** From when what the operator does no longer keeps clients from their locks. */
  get calmFromMs(): number {
    const { scenario } = this.#parts;
    const { discipline, followMs = 0 } = scenario.membership ?? {};
    const isSmooth = discipline === undefined || discipline === "in order";
    if (isSmooth && scenario.faults.length === 0) return 0;
    if (!this.isDone) return Infinity;
    return this.#doneAtMs === undefined ? 0 : this.#doneAtMs + (followMs + longestTtlMs(scenario)) * slowest;
  }

  /** Calls back as soon as everything is done. */
  whenDone(callback: () => void): void {
    if (this.isDone) callback();
    else this.#onDone = callback;
  }

  /** Runs until everything is done and all clients have followed, or for a long time. */
  async finish(): Promise<void> {
    const { world, clients, scenario } = this.#parts;
    const last = lastEpoch(scenario);
    const haveFollowed = (): boolean =>
      clients.every(({ process, session }) => process.isDead || session.epoch >= last);
    await world.runUntil(world.nowMs + longestFinishMs, () => this.isDone && haveFollowed());
  }

  /** Starts another process after the present one has crashed. */
  restart(): void {
    this.#lives += 1;
    const { dice, scenario } = this.#parts;
    this.#process = this.#start(dice.fork("restart").fork(this.#lives).between(0, scenario.settings.ttlMs));
  }

  /** Stops a node. If it forgets its memory and is to be healed, the operator sees to it. */
  crash(host: NodeHost, fault: NodeCrash): void {
    const isHealed = fault.memory === "lost" && fault.healed !== undefined;
    host.crash(isHealed && !this.#canHeal(host, fault) ? { ...fault, memory: "kept" } : fault);
    const { loss } = host;
    if (!isHealed || loss === undefined || loss.lostAtMs !== this.#parts.world.nowMs) return;
    this.#parts.recorder.counterLosses.push(loss);
    const { healAfterMs = fault.forMs + (fault.guardMs ?? 0) } = fault;
    const patient = { host, loss, fromMs: loss.lostAtMs + healAfterMs };
    this.#patients.add(patient);
    this.#run((process) => this.#heal(process, patient));
  }

  /**
   * Whether enough nodes of each set in use keep their counters to heal this one. A node that votes before it is healed
   * answers the tools without its counters, so it must be the only one.
   */
  #canHeal(host: NodeHost, { healed }: NodeCrash): boolean {
    const isEmpty = (name: string): boolean => [...this.#patients].some((patient) => patient.host.name === name);
    const sets = this.#sets().filter((set) => set.includes(host.name));
    if (sets.length === 0 || isEmpty(host.name)) return false;
    const isAnyVoting = [...this.#patients].some(({ loss }) => loss.votesFromMs !== undefined);
    if (isAnyVoting || (healed === "while it votes" && this.#patients.size > 0)) return false;
    return sets.every((set) => set.filter(isEmpty).length < set.length - quorumOf(set.length, {}));
  }

  /** The epoch of clients before the present change. */
  get #epoch(): number {
    return epochAfter(Math.floor(this.#steps / steps.length));
  }

  /** The sets of nodes that clients use at present. */
  #sets(): readonly (readonly string[])[] {
    const epoch = this.#epoch;
    return setsAt(this.#isChanging ? epoch + epochsPerStage : epoch, this.#parts.scenario);
  }

  #nodes(): ToolConnection[] | JointSet {
    const [old = [], next] = this.#sets().map((set) =>
      set.map((name) => this.#connections.get(name) as ToolConnection),
    );
    return next === undefined ? old : { old, new: next };
  }

  #start(afterMs: number): ClientProcess {
    const { world, network, scenario, hosts, dice, onProcess } = this.#parts;
    const process = new ClientProcess(world, operatorName, dice.fork(this.#lives));
    const faults = (node: string): readonly Fault[] =>
      scenario.faults.filter((fault) => "message" in fault && fault.client === operatorName && fault.node === node);
    this.#connections = new Map(
      hosts.map((host) => [host.name, new ToolConnection(process, host, network, faults(host.name))]),
    );
    onProcess(process);
    if (this.isDone) return process;
    world.at(
      world.nowMs + afterMs,
      phase.input,
      () => {
        if (this.#changes > 0) this.#run((running) => this.#migrate(running));
        for (const patient of this.#patients) this.#run((running) => this.#heal(running, patient));
      },
      process,
    );
    return process;
  }

  /** Runs a task in the present process. A task of a process that has crashed never goes on. */
  #run(task: (process: ClientProcess) => Promise<void>): void {
    const process = this.#process;
    process.receive(this.#parts.world.nowMs, () => {
      void task(process).then(
        () => this.#note(),
        (error: unknown) => this.#parts.recorder.misbehaved(process.nowMs, process.name, `fails: ${error}`),
      );
    });
  }

  #note(): void {
    if (!this.isDone) return;
    this.#doneAtMs = this.#parts.world.nowMs;
    this.#onDone?.();
    this.#onDone = undefined;
  }

  async #migrate(process: ClientProcess): Promise<void> {
    const { scenario, recorder, clients } = this.#parts;
    const { startMs = 0, discipline } = scenario.membership ?? {};
    await this.#sleepUntil(process, startMs);
    while (this.#steps < steps.length * this.#changes) {
      const step = steps[this.#steps % steps.length] as (typeof steps)[number];
      const stage = this.#epoch + epochsPerStage * steps.indexOf(step);
      const living = () => clients.filter((client) => !client.process.isDead);
      if (discipline !== "operator hurries") {
        await this.#until(process, () => living().every((client) => client.hasReached(stage)));
      }
      if (step === "begin") await this.#until(process, () => this.#patients.size === 0);
      else recorder.stopsServing(stage - epochsPerStage, process.nowMs);
      this.#isChanging = true;
      await this.#insist(process, `${step} the change after epoch ${this.#epoch}`, () => this.#take(process, step));
      if (step === "end") {
        this.#isChanging = false;
        recorder.changes += 1;
      } else {
        recorder.serves(stage + epochsPerStage, process.nowMs);
        this.#invite(stage + epochsPerStage, step === "begin");
      }
      this.#steps += 1;
    }
  }

  #take(process: ClientProcess, step: (typeof steps)[number]): Promise<unknown> {
    const { scenario, tools } = this.#parts;
    const { ttlMs, nodeTimeoutMs } = scenario.settings;
    const { watchMs = 0 } = scenario.membership ?? {};
    const options = {
      generation: generationAt(this.#epoch),
      watchMs,
      settleMs: 10 * ttlMs,
      nodeTimeoutMs,
      clock: process,
    };
    return tools.migration(this.#nodes() as JointSet, options)[step]();
  }

  /** Lets each client follow to an epoch after a while. Hasty ones skip the joint stage. */
  #invite(epoch: number, isJoint: boolean): void {
    const { world, scenario, clients, dice } = this.#parts;
    const { followMs = 0, discipline } = scenario.membership ?? {};
    for (const client of clients) {
      const own = dice.fork(client.process.name).fork(epoch);
      const atMs = world.nowMs + own.between(0, followMs);
      const isHasty = isJoint && discipline === "clients hurry" && own.chance(0.5);
      world.at(atMs, phase.input, () => client.follow(isHasty ? epoch + epochsPerStage : epoch), client.process);
    }
  }

  async #heal(process: ClientProcess, patient: Patient): Promise<void> {
    const { host, loss, fromMs } = patient;
    await this.#sleepUntil(process, fromMs);
    await this.#until(process, () => !host.isDown);
    await this.#insist(process, `heal node ${host.name}`, () => this.#healNow(process, loss));
    host.heal();
    this.#patients.delete(patient);
  }

  /**
   * Heals one node. Other nodes that lack counters refuse to be read. A node that clients do not use any more needs no
   * healing: if it comes back, it does so as a new one.
   */
  async #healNow(process: ClientProcess, { node, lostAtMs }: OpenLoss): Promise<unknown> {
    const { scenario, tools } = this.#parts;
    if (!this.#sets().some((set) => set.includes(node))) return;
    const settleMs = Math.max(0, Math.ceil((lostAtMs + longestTtlMs(scenario) - process.nowMs) * slowest));
    const generation = generationAt(this.#epoch);
    const options = { settleMs, generation, nodeTimeoutMs: scenario.settings.nodeTimeoutMs, clock: process };
    return tools.heal(this.#nodes(), node, options);
  }

  /** Runs a tool until it succeeds, less and less often. */
  async #insist(process: ClientProcess, what: string, run: () => Promise<unknown>): Promise<void> {
    const { recorder } = this.#parts;
    for (let failures = 0; ; failures++) {
      recorder.log(process.nowMs, process.name, () => `starts to ${what}`);
      try {
        await run();
        recorder.log(process.nowMs, process.name, () => `has managed to ${what}`);
        return;
      } catch (error) {
        recorder.log(process.nowMs, process.name, () => `fails to ${what}: ${(error as Error).message}`);
      }
      await process.sleep(this.#pollMs * 2 ** Math.max(0, Math.min(failures - 20, 8)));
    }
  }

  /** Waits until a moment of true time: the clock of the process may be slow. */
  async #sleepUntil(process: ClientProcess, atMs: number): Promise<void> {
    while (process.nowMs < atMs) await process.sleep(atMs - process.nowMs);
  }

  async #until(process: ClientProcess, isSo: () => boolean): Promise<void> {
    while (!isSo()) await process.sleep(this.#pollMs);
  }
}

/** How long the operator may take after the last fault. */
const longestFinishMs = 600_000;
