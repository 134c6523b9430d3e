import type { LockMode, StorageKind } from "../history/history.ts";
import type { HeldRecord } from "../history/recorder.ts";
import type { AccessResult, AccessTrace } from "../history/trace.ts";
import type { Fault, LateAccess } from "../scenario/fault.ts";
import type { ClientProcess } from "./client-process.ts";
import type { Network } from "./network.ts";
import { phase } from "./world.ts";

/** What each kind of storage did with an access. */
export type Seen = Readonly<Record<StorageKind, AccessResult>>;

/** One value in one kind of storage. Each write stores its own number, which makes lost updates visible. */
interface Register {
  lastWrite: number;
  lastLock: string;
  /** The highest tokens of accesses under a shared lock, and under an exclusive one. */
  readonly highest: Record<LockMode, number>;
}

const kinds: readonly StorageKind[] = ["is guarded", "checks all", "checks writes", "checks nothing"];

/** What a client accesses, and how. */
export interface Target {
  readonly lock: HeldRecord;
  readonly resource: string;
  /** Whether it forgets to show its token. */
  readonly forgetsToken: boolean;
}

/**
 * The data that the locks protect, on a separate network: four storages that receive the same accesses at the same
 * moments. One checks the token of every access, reads included, and refuses writes without one, as a guarded table does; the
 * next one checks what tokens it is shown, as conditions in statements do; one checks only writes; one checks nothing. A check
 * refuses late writers after a newer read or write, and late readers after a newer write.
 */
export class Storage {
  readonly #network: Network;
  readonly #faults: readonly LateAccess[];
  readonly #registers = new Map<string, Register>();
  readonly #accesses = new Map<string, number>();
  #writes = 0;

  /**
   * @param network the network whose latency its messages have, too
   * @param faults all faults of the scenario; those of single accesses strike here
   */
  constructor(network: Network, faults: readonly Fault[]) {
    this.#network = network;
    this.#faults = faults.filter((fault) => fault.kind === "late access");
  }

  /** Reads a value that the lock protects. */
  read(target: Target): Promise<Seen> {
    return this.#access(target, "read", (kind) => this.#read(kind, target));
  }

  /** Reads a value once more, to see whether it has changed. */
  readAgain(target: Target, seen: Seen): Promise<Seen> {
    return this.#access(target, "read again", (kind) => this.#readAgain(kind, target, seen[kind]));
  }

  /** Replaces the value in each storage that did not refuse the read. */
  write(target: Target, seen: Seen): Promise<Seen> {
    return this.#access(target, "write", (kind) => this.#write(kind, target, seen[kind]));
  }

  /** Makes an access: there and back over the network. */
  #access(
    { lock, resource, forgetsToken }: Target,
    kind: AccessTrace["kind"],
    perform: (kind: StorageKind) => AccessResult,
  ): Promise<Seen> {
    const { world, recorder } = this.#network;
    const { process, attempt } = lock;
    const fence = forgetsToken ? undefined : lock.fence;
    process.beforeActing();
    lock.believe();
    recorder.log(process.nowMs, process.name, () => `${describeAccess(kind, resource)} under lock ${attempt}`);
    return new Promise((resolve) => {
      const sentAtMs = process.nowMs;
      const arrivesAtMs = sentAtMs + this.#delayMs(process) + this.#latenessMs(process);
      const facts = { client: process.name, attempt, fence, resource, kind, sentAtMs, arrivesAtMs };
      const trace = recorder.tracer?.accesses(facts);
      world.at(arrivesAtMs, phase.input, () => {
        if (!process.livedAt(sentAtMs)) return;
        if (kind === "write") this.#writes += 1;
        const results = Object.fromEntries(kinds.map((each) => [each, perform(each)])) as unknown as Seen;
        if (trace !== undefined) trace.results = results;
        process.receive(world.nowMs + this.#delayMs(process), () => resolve(results));
      });
    });
  }

  #read(kind: StorageKind, { lock, resource, forgetsToken }: Target): AccessResult {
    const register = this.#register(kind, resource);
    const isChecked = !forgetsToken && (kind === "is guarded" || kind === "checks all");
    return resultOf(register, isChecked && !this.#admits(register, lock, kind) ? "refused" : "accepted");
  }

  #readAgain(kind: StorageKind, target: Target, before: AccessResult): AccessResult {
    const { lock, resource, forgetsToken } = target;
    const result = this.#read(kind, target);
    if (forgetsToken || before.outcome !== "accepted" || result.outcome !== "accepted" || result.value === before.value)
      return result;
    const { lastLock: writer } = this.#register(kind, resource);
    const { world, recorder } = this.#network;
    const read = { atMs: world.nowMs, storage: kind, resource, reader: lock.attempt, writer };
    recorder.nonrepeatableReads.push(read);
    this.#log(() => `(${kind}) shows lock ${lock.attempt} another value of ${resource} than before: of lock ${writer}`);
    return result;
  }

  #write(kind: StorageKind, { lock, resource, forgetsToken }: Target, basis: AccessResult): AccessResult {
    const register = this.#register(kind, resource);
    if (basis.outcome !== "accepted") return resultOf(register, "skipped");
    const isAdmitted = forgetsToken
      ? kind !== "is guarded"
      : kind === "checks nothing" || this.#admits(register, lock, kind);
    if (!isAdmitted) {
      if (forgetsToken) this.#log(() => `(${kind}) refuses lock ${lock.attempt}: it shows no token`);
      return resultOf(register, "refused");
    }
    const lost = basis.value === register.lastWrite ? undefined : register.lastLock;
    if (lost !== undefined) {
      const { world, recorder } = this.#network;
      recorder.lostUpdates.push({ atMs: world.nowMs, storage: kind, resource, lost, by: lock.attempt });
      this.#log(
        () => `(${kind}) loses the update of lock ${lost} on ${resource}: lock ${lock.attempt} had not read it`,
      );
    }
    register.lastWrite = this.#writes;
    register.lastLock = lock.attempt;
    return resultOf(register, "accepted", lost);
  }

  #admits(register: Register, lock: HeldRecord, kind: StorageKind): boolean {
    const { mode, fence, attempt } = lock;
    const { highest } = register;
    const isNew = mode === "shared" ? fence > highest.exclusive : fence >= highest.exclusive && fence > highest.shared;
    if (isNew) highest[mode] = Math.max(highest[mode], fence);
    else if (kind !== "is guarded") {
      // The guarded storage treats tokens in the same way.
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

  #delayMs(process: ClientProcess): number {
    return process.storageDice.between(...this.#network.latencyMs);
  }

  /** How much a fault delays the client's next access, in milliseconds. */
  #latenessMs({ name }: ClientProcess): number {
    const number = (this.#accesses.get(name) ?? 0) + 1;
    this.#accesses.set(name, number);
    const fault = this.#faults.find(({ client, access }) => client === name && access === number);
    if (fault === undefined) return 0;
    this.#network.struck(fault);
    return fault.byMs;
  }

  #log(what: () => string): void {
    const { recorder, world } = this.#network;
    recorder.log(world.nowMs, "storage", what);
  }
}

function describeAccess(kind: AccessTrace["kind"], resource: string): string {
  return kind === "read again" ? `reads ${resource} again` : `${kind}s ${resource}`;
}

function resultOf(register: Register, outcome: AccessResult["outcome"], lost?: string): AccessResult {
  const { lastWrite: value, lastLock, highest } = register;
  const writtenBy = value === 0 ? undefined : lastLock;
  return { outcome, highest: Math.max(highest.exclusive, highest.shared), value, writtenBy, lost };
}
