/** Random histories of a correct system, and histories with a planted error. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import fc from "fast-check";

/** A step of one of three processes, after some time. */
export interface Step {
  readonly process: number;
  readonly afterMs: number;
  readonly action: (typeof actions)[number];
}

const actions = [
  ...["lock", "lock", "share", "extend", "release", "read", "read", "write", "write", "peek"],
  ...["happen", "happen", "answer", "answer", "answer", "crash"],
] as const;

/** Random steps. */
export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    process: fc.nat({ max: 2 }),
    afterMs: fc.oneof(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 20_000 })).map((ms) => ms / 1_000),
    action: fc.constantFrom(...actions),
  }),
  { maxLength: 80 },
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
  readonly processes: readonly Process[];
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
    this.processes = offsetsMs.map(() => ({ lines: [], isCrashed: false, lock: undefined, access: undefined }));
    for (const [index] of offsetsMs.entries()) {
      const machine = offsetsMs.some((ms) => ms !== 0) ? `machine ${index}` : "machine";
      this.put(index, { event: "started", format: 1, process: `p${index}`, machine });
    }
  }

  /** Writes a line of a process. */
  put(index: number, event: object): void {
    const wallMs = this.#wallMs(index);
    this.processes[index]?.lines.push({ atMs: this.nowMs, wallMs, ...event });
  }

  /** Makes a step, if it is possible now. */
  step({ process: index, afterMs, action }: Step): void {
    this.nowMs = Number((this.nowMs + afterMs).toFixed(3));
    const process = this.processes[index] as Process;
    if (process.isCrashed) return;
    const { lock, access } = process;
    if (lock !== undefined && lock.untilMs <= this.nowMs && action === "extend") this.#end(index, "lost");
    else if (action === "lock" || action === "share") this.#tryLock(index, action === "share");
    else if (action === "crash") this.#crash(process);
    else if (action === "extend" && lock !== undefined) this.#extend(index, lock);
    else if (action === "release" && lock !== undefined && lock.untilMs > this.nowMs) this.#end(index, "released");
    else if (action === "happen" && access !== undefined) this.#happen(access);
    else if (action === "answer" && access !== undefined) this.answer(index);
    else if (access === undefined && action === "peek") this.call(index, "read", undefined);
    else if (access === undefined && lock !== undefined && action === "read") this.call(index, "read", lock);
    else if (access === undefined && lock?.isShared === false && action === "write") this.call(index, "write", lock);
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

  /** Answers all accesses, ends all locks, and brings back a process that has crashed, so that nothing else is going on. */
  calm(): void {
    for (const [index, process] of this.processes.entries()) {
      this.nowMs += 1;
      if (process.isCrashed) continue;
      this.answer(index);
      if (process.lock !== undefined) this.#end(index, process.lock.untilMs > this.nowMs ? "released" : "lost");
    }
    this.nowMs += 2 * validityMs;
  }

  /** Returns the lines of each file. */
  files(): string[] {
    return this.processes.map(({ lines }) => lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }

  #wallMs(index: number): number {
    return Math.floor(1e12 + this.nowMs + (this.#offsetsMs[index] ?? 0));
  }

  #tryLock(index: number, isShared: boolean): void {
    const process = this.processes[index] as Process;
    if (process.lock !== undefined && process.lock.untilMs > this.nowMs) return;
    const isFree = this.#locks.every((lock) => lock.untilMs < this.nowMs || (isShared && lock.isShared));
    if (!isFree) return;
    const sharer = this.#locks.find((lock) => lock.untilMs >= this.nowMs);
    if (sharer === undefined) this.fence += 1;
    this.grant(index, this.fence, isShared);
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

  /** Ends a process. Its request may be on its way, and happens or does not. */
  #crash(process: Process): void {
    process.isCrashed = true;
    if (process.access !== undefined && this.#count % 2 === 0) this.#happen(process.access);
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
