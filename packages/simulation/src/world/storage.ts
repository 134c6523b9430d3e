import type { LockMode, StorageKind } from "../history/history.ts";
import type { HeldRecord, Recorder } from "../history/recorder.ts";
import type { Fault, LateAccess } from "../scenario/fault.ts";
import type { ClientProcess } from "./client-process.ts";
import { phase, type World } from "./world.ts";

/** The result of a read: the number of the last write in each kind of storage, or null if it refused the token. */
export type Seen = Readonly<Record<StorageKind, number | null>>;

/** One value in one kind of storage. Each write stores its own number, which makes lost updates visible. */
interface Register {
  lastWrite: number;
  lastLock: string;
  /** The highest tokens of accesses under a shared lock, and under an exclusive one. */
  readonly highest: Record<LockMode, number>;
}

const kinds: readonly StorageKind[] = ["checks all", "checks writes", "checks nothing"];

/**
 * The data that the locks protect, on a separate network: three storages that receive the same accesses at the same
 * moments. One checks the token of every access, reads included; one checks only writes; one checks nothing. A check
 * refuses late writers after a newer read or write, and late readers after a newer write.
 */
export class Storage {
  readonly #world: World;
  readonly #recorder: Recorder;
  readonly #latencyMs: readonly [number, number];
  readonly #faults: readonly LateAccess[];
  readonly #registers = new Map<string, Register>();
  readonly #accesses = new Map<string, number>();
  #writes = 0;

  /**
   * @param world the world that it is part of
   * @param recorder records lost updates and nonrepeatable reads
   * @param latencyMs the shortest and the longest time that a message takes, in milliseconds
   * @param faults all faults of the scenario; those of single accesses strike here
   */
  constructor(world: World, recorder: Recorder, latencyMs: readonly [number, number], faults: readonly Fault[]) {
    this.#world = world;
    this.#recorder = recorder;
    this.#latencyMs = latencyMs;
    this.#faults = faults.filter((fault) => fault.kind === "late access");
  }

  /** Reads a value that the lock protects. */
  read(lock: HeldRecord, resource: string): Promise<Seen> {
    return this.#access(lock, `reads ${resource}`, () => this.#forEach((kind) => this.#read(kind, lock, resource)));
  }

  /** Reads a value once more, to see whether it has changed. */
  readAgain(lock: HeldRecord, resource: string, seen: Seen): Promise<void> {
    return this.#access(lock, `reads ${resource} again`, () => {
      this.#forEach((kind) => this.#readAgain(kind, lock, resource, seen[kind]));
    });
  }

  /** Replaces the value in each storage that did not refuse the read. */
  write(lock: HeldRecord, resource: string, seen: Seen): Promise<void> {
    return this.#access(lock, `writes ${resource}`, () => {
      this.#writes += 1;
      this.#forEach((kind) => this.#write(kind, lock, resource, seen[kind]));
    });
  }

  /** Makes an access: there and back over the network. */
  #access<T>(lock: HeldRecord, what: string, perform: () => T): Promise<T> {
    const { process } = lock;
    process.beforeActing();
    lock.believe();
    this.#recorder.log(process.nowMs, process.name, () => `${what} under lock ${lock.attempt}`);
    return new Promise((resolve) => {
      const arrivesMs = process.nowMs + this.#delayMs(process) + this.#latenessMs(process);
      this.#world.at(arrivesMs, phase.input, () => {
        const result = perform();
        process.receive(this.#world.nowMs + this.#delayMs(process), () => resolve(result));
      });
    });
  }

  #read(kind: StorageKind, lock: HeldRecord, resource: string): number | null {
    const register = this.#register(kind, resource);
    if (kind === "checks all" && !this.#admits(register, lock, kind)) return null;
    return register.lastWrite;
  }

  #readAgain(kind: StorageKind, lock: HeldRecord, resource: string, before: number | null): null {
    const value = this.#read(kind, lock, resource);
    if (before === null || value === null || value === before) return null;
    const { lastLock: writer } = this.#register(kind, resource);
    const atMs = this.#world.nowMs;
    this.#recorder.nonrepeatableReads.push({ atMs, storage: kind, resource, reader: lock.attempt, writer });
    this.#log(() => `(${kind}) shows lock ${lock.attempt} another value of ${resource} than before: of lock ${writer}`);
    return null;
  }

  #write(kind: StorageKind, lock: HeldRecord, resource: string, basis: number | null): null {
    const register = this.#register(kind, resource);
    if (basis === null || (kind !== "checks nothing" && !this.#admits(register, lock, kind))) return null;
    if (basis !== register.lastWrite) {
      const lost = register.lastLock;
      this.#recorder.lostUpdates.push({ atMs: this.#world.nowMs, storage: kind, resource, lost, by: lock.attempt });
      this.#log(
        () => `(${kind}) loses the update of lock ${lost} on ${resource}: lock ${lock.attempt} had not read it`,
      );
    }
    register.lastWrite = this.#writes;
    register.lastLock = lock.attempt;
    return null;
  }

  #admits(register: Register, lock: HeldRecord, kind: StorageKind): boolean {
    const { mode, fence, attempt } = lock;
    const { highest } = register;
    const isNew = mode === "shared" ? fence > highest.exclusive : fence >= highest.exclusive && fence > highest.shared;
    if (isNew) highest[mode] = Math.max(highest[mode], fence);
    else {
      const shown = mode === "shared" ? highest.exclusive : Math.max(highest.exclusive, highest.shared);
      this.#log(() => `(${kind}) refuses lock ${attempt}, fence ${fence}: it was shown ${shown}`);
    }
    return isNew;
  }

  #register(kind: StorageKind, resource: string): Register {
    const key = `${kind} ${resource}`;
    const known = this.#registers.get(key);
    if (known !== undefined) return known;
    const fresh = { lastWrite: 0, lastLock: "none", highest: { exclusive: 0, shared: 0 } };
    this.#registers.set(key, fresh);
    return fresh;
  }

  #forEach(perform: (kind: StorageKind) => number | null): Seen {
    return Object.fromEntries(kinds.map((kind) => [kind, perform(kind)])) as Record<StorageKind, number | null>;
  }

  #delayMs(process: ClientProcess): number {
    return process.storageDice.between(...this.#latencyMs);
  }

  /** How much a fault delays the client's next access, in milliseconds. */
  #latenessMs({ name }: ClientProcess): number {
    const number = (this.#accesses.get(name) ?? 0) + 1;
    this.#accesses.set(name, number);
    const fault = this.#faults.find(({ client, access }) => client === name && access === number);
    if (fault === undefined) return 0;
    this.#recorder.faultStruck(this.#world.nowMs, fault);
    return fault.byMs;
  }

  #log(what: () => string): void {
    this.#recorder.log(this.#world.nowMs, "storage", what);
  }
}
