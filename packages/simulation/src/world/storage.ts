import type { StorageKind } from "../history/history.ts";
import type { HeldRecord, Recorder } from "../history/recorder.ts";
import type { Fault, LateAccess } from "../scenario/fault.ts";
import type { ClientProcess } from "./client-process.ts";
import { turn, type World } from "./world.ts";

/** What a read found: for each kind of storage the write that it saw last, or null if the token was refused. */
export type Seen = Readonly<Record<StorageKind, number | null>>;

/** One value in one kind of storage. A write replaces it by its own number, so that a lost update shows. */
interface Register {
  lastWrite: number;
  lastLock: string;
  highestFence: number;
}

const kinds: readonly StorageKind[] = ["checks all", "checks writes", "checks nothing"];

/**
 * The data that the locks protect, behind a network of its own: three storages that get the same accesses at the same
 * moments. One checks the token of every access and remembers the highest that it was shown, reads included; one checks
 * writes only; one checks nothing.
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
   * @param world where it stands
   * @param recorder hears of lost updates
   * @param latencyMs how long a message takes, in milliseconds, from the least to the most
   * @param faults of which those of single accesses strike here
   */
  constructor(world: World, recorder: Recorder, latencyMs: readonly [number, number], faults: readonly Fault[]) {
    this.#world = world;
    this.#recorder = recorder;
    this.#latencyMs = latencyMs;
    this.#faults = faults.filter((fault) => fault.kind === "late access");
  }

  /** Reads what the lock protects. */
  read(lock: HeldRecord, resource: string): Promise<Seen> {
    return this.#access(lock, `reads ${resource}`, () => this.#forEach((kind) => this.#read(kind, lock, resource)));
  }

  /** Replaces what was read, where it was not refused. */
  write(lock: HeldRecord, resource: string, seen: Seen): Promise<void> {
    return this.#access(lock, `writes ${resource}`, () => {
      this.#writes += 1;
      this.#forEach((kind) => this.#write(kind, lock, resource, seen[kind]));
    });
  }

  /** The client acts on its lock: there and back over the network. */
  #access<T>(lock: HeldRecord, what: string, perform: () => T): Promise<T> {
    const { process } = lock;
    process.beforeActing();
    lock.believe();
    this.#recorder.tell(process.nowMs, process.name, () => `${what} under lock ${lock.attempt}`);
    return new Promise((resolve) => {
      const arrivesMs = process.nowMs + this.#delayMs(process) + this.#latenessMs(process);
      this.#world.at(arrivesMs, turn.input, () => {
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

  #write(kind: StorageKind, lock: HeldRecord, resource: string, basis: number | null): null {
    const register = this.#register(kind, resource);
    if (basis === null || (kind !== "checks nothing" && !this.#admits(register, lock, kind))) return null;
    if (basis !== register.lastWrite) {
      const lost = register.lastLock;
      this.#recorder.lostUpdates.push({ atMs: this.#world.nowMs, storage: kind, resource, lost, by: lock.attempt });
      this.#tell(
        () => `(${kind}) loses the update of lock ${lost} on ${resource}: lock ${lock.attempt} had not read it`,
      );
    }
    register.lastWrite = this.#writes;
    register.lastLock = lock.attempt;
    return null;
  }

  #admits(register: Register, lock: HeldRecord, kind: StorageKind): boolean {
    if (lock.fence < register.highestFence) {
      this.#tell(
        () => `(${kind}) refuses lock ${lock.attempt}, fence ${lock.fence}: it was shown ${register.highestFence}`,
      );
      return false;
    }
    register.highestFence = lock.fence;
    return true;
  }

  #register(kind: StorageKind, resource: string): Register {
    const key = `${kind} ${resource}`;
    const known = this.#registers.get(key);
    if (known !== undefined) return known;
    const fresh = { lastWrite: 0, lastLock: "none", highestFence: 0 };
    this.#registers.set(key, fresh);
    return fresh;
  }

  #forEach(perform: (kind: StorageKind) => number | null): Seen {
    return Object.fromEntries(kinds.map((kind) => [kind, perform(kind)])) as Record<StorageKind, number | null>;
  }

  #delayMs(process: ClientProcess): number {
    return process.storageDice.between(...this.#latencyMs);
  }

  /** What a fault adds to the delay of the access that is made now. */
  #latenessMs({ name }: ClientProcess): number {
    const number = (this.#accesses.get(name) ?? 0) + 1;
    this.#accesses.set(name, number);
    const fault = this.#faults.find(({ client, access }) => client === name && access === number);
    if (fault === undefined) return 0;
    this.#recorder.faultStruck(this.#world.nowMs, fault);
    return fault.byMs;
  }

  #tell(what: () => string): void {
    this.#recorder.tell(this.#world.nowMs, "storage", what);
  }
}
