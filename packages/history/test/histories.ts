/** Random histories of a correct system, and histories with a planted error. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import fc from "fast-check";

/** A step of a process, after some time: which of the actions that are possible then. */
export interface Step {
  readonly process: number;
  readonly afterMs: number;
  readonly choice: number;
}

/** Random steps of three processes. */
export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    process: fc.nat({ max: 2 }),
    afterMs: fc
      .oneof(
        { weight: 6, arbitrary: fc.integer({ min: 1, max: 400 }) },
        { weight: 3, arbitrary: fc.integer({ min: 1, max: 4_000 }) },
        { weight: 1, arbitrary: fc.integer({ min: 1, max: 25_000 }) },
      )
      .map((micros) => micros / 1_000),
    choice: fc.nat({ max: 1_000 }),
  }),
  { maxLength: 200, size: "max" },
);

const resource = "stock";
const validityMs = 20;

interface Lock {
  readonly owner: string;
  readonly fence: number;
  readonly isShared: boolean;
  untilMs: number;
}

interface Access {
  readonly id: number;
  readonly kind: "read" | "write";
  readonly fence: number | undefined;
  readonly isShared: boolean;
  value: string;
  outcome: "accepted" | "refused" | undefined;
}

interface Process {
  readonly lines: object[];
  isCrashed: boolean;
  lock: Lock | undefined;
  access: Access | undefined;
}

/** A system of locks and one guarded value, on one clock. */
export class System {
  readonly processes: Process[] = [];
  readonly #ended: Process[] = [];
  nowMs = 0;
  value = "first";
  fence = 100;
  readonly #offsetsMs: readonly number[];
  readonly #locks: Lock[] = [];
  readonly #newest = { exclusive: 0, shared: 0 };
  #count = 0;

  /** @param offsetsMs by how much the wall clock of each process is wrong; of one machine, if they are all 0 */
  constructor(offsetsMs: readonly number[]) {
    this.#offsetsMs = offsetsMs;
    for (const index of offsetsMs.keys()) this.#start(index);
  }

  /** Writes a line of a process. */
  put(index: number, event: object): void {
    const wallMs = this.#wallMs(index);
    this.processes[index]?.lines.push({ atMs: this.nowMs, wallMs, ...event });
  }

  /** Makes a step, if any is possible now. */
  step({ process: index, afterMs, choice }: Step): void {
    this.nowMs = Number((this.nowMs + afterMs).toFixed(3));
    const actions = this.#actionsOf(index);
    actions[choice % actions.length]?.();
  }

  /** Returns what a process can do now. The likelier actions are there twice. */
  #actionsOf(index: number): (() => void)[] {
    const process = this.processes[index] as Process;
    const { lock, access } = process;
    const happen = access === undefined ? [] : [() => this.#happen(access)];
    if (process.isCrashed) return happen;
    const actions = [...happen];
    if (lock === undefined) actions.push(...this.#waysToLock(index));
    else if (lock.untilMs <= this.nowMs) actions.push(() => this.#end(index, "lost"));
    else
      actions.push(
        () => this.#extend(index, lock),
        () => this.#end(index, "released"),
      );
    const answer = (): void => this.answer(index);
    const call = (kind: Access["kind"], token: Lock | undefined) => () => void this.call(index, kind, token);
    if (access !== undefined) actions.push(answer, answer, answer);
    else if (lock === undefined) actions.push(call("read", undefined));
    else if (lock.isShared) actions.push(call("read", lock));
    else actions.push(call("read", lock), call("write", lock), call("write", lock));
    const mayCrash = this.processes.filter(({ isCrashed }) => !isCrashed).length > 1 && this.#count % 8 === 0;
    if (mayCrash) actions.push(() => this.#crash(process));
    return actions;
  }

  /** Grants a lock, whoever else has one. */
  grant(index: number, fence: number, isShared = false): Lock {
    this.#count += 1;
    const lock = { owner: `o${this.#count}`, fence, isShared, untilMs: this.nowMs + validityMs };
    const term = { fromMs: this.nowMs, fromWallMs: this.#wallMs(index), validityMs };
    this.nowMs += 0.5;
    this.#locks.push(lock);
    const process = this.processes[index] as Process;
    process.lock = lock;
    const mode = isShared ? "shared" : "exclusive";
    this.put(index, { event: "acquired", owner: lock.owner, resources: [resource], mode, fence, ...term });
    return lock;
  }

  /** Calls for an access. */
  call(index: number, kind: Access["kind"], lock: Pick<Lock, "fence" | "isShared"> | undefined): Access {
    this.#count += 1;
    const { fence, isShared = false } = lock ?? {};
    const value = kind === "write" ? `v${this.#count}` : "";
    const access: Access = { id: this.#count, kind, fence, isShared, value, outcome: undefined };
    (this.processes[index] as Process).access = access;
    this.put(index, { event: kind, id: access.id, resource, fence, ...(kind === "write" ? { value } : {}) });
    return access;
  }

  /** Answers the access of a process. */
  answer(index: number, wrong: Partial<Access> = {}): void {
    const process = this.processes[index] as Process;
    const { access } = process;
    if (access === undefined) return;
    this.#happen(access);
    Object.assign(access, wrong);
    const { id, kind, outcome, value } = access;
    const read = kind === "read" && outcome === "accepted" ? { value } : {};
    this.put(index, { event: "answered", id, outcome, ...read });
    process.access = undefined;
  }

  /** Answers all accesses, and ends all locks. Processes that have crashed start again. */
  calm(): void {
    for (const [index, process] of this.processes.entries()) {
      this.nowMs += 1;
      if (process.isCrashed) this.#start(index);
      this.answer(index);
      if (process.lock !== undefined) this.#end(index, process.lock.untilMs > this.nowMs ? "released" : "lost");
    }
    this.nowMs += 2 * validityMs;
  }

  /** Returns the lines of each file. */
  files(): string[] {
    return [...this.#ended, ...this.processes].map(({ lines }) =>
      lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    );
  }

  #start(index: number): void {
    const before = this.processes[index];
    if (before !== undefined) this.#ended.push(before);
    this.processes[index] = { lines: [], isCrashed: false, lock: undefined, access: undefined };
    const machine = this.#offsetsMs.some((ms) => ms !== 0) ? `machine ${index}` : "machine";
    this.put(index, { event: "started", format: 1, process: `p${index}`, machine });
  }

  #wallMs(index: number): number {
    return Math.floor(1e12 + this.nowMs + (this.#offsetsMs[index] ?? 0));
  }

  #waysToLock(index: number): (() => void)[] {
    const held = this.#locks.filter((lock) => lock.untilMs >= this.nowMs);
    const share = (): void => {
      if (held.length === 0) this.fence += 1;
      this.grant(index, this.fence, true);
    };
    const lock = (): void => void this.grant(index, ++this.fence);
    if (held.length === 0) return [lock, lock, share];
    return held.every(({ isShared }) => isShared) ? [share, share] : [];
  }

  #extend(index: number, lock: Lock): void {
    lock.untilMs = this.nowMs + validityMs;
    const term = { fromMs: this.nowMs, fromWallMs: this.#wallMs(index), validityMs };
    this.put(index, { event: "extended", owner: lock.owner, ...term });
  }

  #end(index: number, event: "released" | "lost"): void {
    const process = this.processes[index] as Process;
    if (process.lock === undefined) return;
    this.put(index, { event, owner: process.lock.owner, reason: "expired" });
    process.lock.untilMs = Math.min(process.lock.untilMs, this.nowMs);
    process.lock = undefined;
  }

  /** Ends a process. Its request may be on its way, and happen later. */
  #crash(process: Process): void {
    process.isCrashed = true;
  }

  /** Lets the storage see a request. */
  #happen(access: Access): void {
    if (access.outcome !== undefined) return;
    const { kind, fence, isShared } = access;
    const newest = this.#newest;
    const isNew =
      fence === undefined || (isShared ? fence > newest.exclusive : fence >= newest.exclusive && fence > newest.shared);
    access.outcome = isNew ? "accepted" : "refused";
    if (!isNew) return;
    if (fence !== undefined) newest[isShared ? "shared" : "exclusive"] = fence;
    if (kind === "write") this.value = access.value;
    else access.value = this.value;
  }
}

/** Errors, by what must be found. Each is planted in a calm moment. */
export const errors: Readonly<Record<string, readonly [rule: string, plant: (system: System) => void]>> = {
  "overlapping validity": [
    "exclusion",
    (system) => {
      system.grant(0, ++system.fence);
      system.nowMs += 1;
      system.grant(1, ++system.fence);
    },
  ],
  "overlap with a shared lock": [
    "exclusion",
    (system) => {
      system.grant(0, ++system.fence, true);
      system.nowMs += 1;
      system.grant(1, ++system.fence);
    },
  ],
  "a token that goes back": [
    "token order",
    (system) => {
      system.grant(0, system.fence + 9);
      system.nowMs += 100;
      system.grant(1, system.fence + 5);
    },
  ],
  "a token that repeats": [
    "token order",
    (system) => {
      system.grant(0, ++system.fence);
      system.nowMs += 100;
      system.grant(1, system.fence);
    },
  ],
  "a stale write": [
    "stale write",
    (system) => {
      access(system, 0, "read", system.fence + 9);
      access(system, 1, "write", system.fence + 5, { outcome: "accepted" });
    },
  ],
  "a lost update": [
    "linearizability",
    (system) => {
      access(system, 0, "read", system.fence + 9);
      access(system, 1, "write", undefined);
      access(system, 0, "write", system.fence + 9);
    },
  ],
  "a write that is lost": [
    "linearizability",
    (system) => {
      const before = system.value;
      access(system, 0, "write", undefined);
      access(system, 1, "read", undefined, { value: before });
    },
  ],
  "a read from the future": [
    "linearizability",
    (system) => {
      access(system, 0, "read", undefined);
      access(system, 1, "read", undefined, { value: "future" });
    },
  ],
};

/** Makes an access that ends before the next one. */
function access(
  system: System,
  index: number,
  kind: Access["kind"],
  fence: number | undefined,
  wrong: Partial<Access> = {},
): void {
  system.nowMs += 100;
  system.call(index, kind, fence === undefined ? undefined : { fence, isShared: false });
  system.nowMs += 1;
  system.answer(index, wrong);
}

let histories = 0;
const folder = reapedDirectory();

/** Writes files with these texts. */
export async function written(texts: readonly string[]): Promise<string[]> {
  histories += 1;
  const files = await Promise.all(texts.map(async (_, index) => join(await folder, `${histories}-${index}.jsonl`)));
  await Promise.all(files.map((file, index) => writeFile(file, texts[index] as string)));
  return files;
}
