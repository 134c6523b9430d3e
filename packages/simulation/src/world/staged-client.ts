import type { Redlock } from "@holdfast/core";
import type { Recorder } from "../history/recorder.ts";
import type { Waiters } from "../history/waiters.ts";
import type { FullSettings } from "../scenario/scenario.ts";
import type { ClientProcess } from "./client-process.ts";
import type { Storage } from "./storage.ts";

/** The `Redlock` of a client in one epoch. */
export interface Session {
  readonly epoch: number;
  readonly redlock: Redlock;
  readonly waiters: Waiters;
  /** How many calls and locks it has. */
  calls: number;
  /** Whether it is closed and no lock is left. */
  isOver: boolean;
}

/** What a client is made of. */
export interface ClientParts {
  readonly process: ClientProcess;
  readonly storage: Storage;
  readonly recorder: Recorder;
  readonly settings: FullSettings;
  /** How many workers it has. */
  readonly workers: number;
  /** When it closes the `Redlock` of the epoch before. */
  readonly closes: "at once" | "without calls";
  /** Opens a `Redlock` over the nodes of an epoch. */
  open(epoch: number): Pick<Session, "redlock" | "waiters">;
}

/** A client process: its workers, and the `Redlock`s that they use one after another while the set of nodes changes. */
export class StagedClient {
  readonly process: ClientProcess;
  readonly storage: Storage;
  readonly recorder: Recorder;
  readonly settings: FullSettings;
  /** How many workers are still at work. */
  working: number;
  readonly #parts: ClientParts;
  readonly #sessions: Session[] = [];

  /** @param parts what it is made of */
  constructor(parts: ClientParts) {
    const { process, storage, recorder, settings, workers } = parts;
    this.#parts = parts;
    this.process = process;
    this.storage = storage;
    this.recorder = recorder;
    this.settings = settings;
    this.working = workers;
    this.#sessions.push(this.#open(1));
  }

  /** The session that new calls use. */
  get session(): Session {
    return this.#sessions.at(-1) as Session;
  }

  /** Whether it is in this epoch, and has neither calls nor locks left in an earlier one. */
  hasReached(epoch: number): boolean {
    return this.session.epoch >= epoch && this.#sessions.every((each) => each.isOver || each.epoch >= epoch);
  }

  /** Opens a `Redlock` for a later epoch, and closes the one before as soon as it may. */
  follow(epoch: number): void {
    const before = this.session;
    if (before.epoch >= epoch) return;
    this.#sessions.push(this.#open(epoch));
    this.recorder.log(this.process.nowMs, this.process.name, () => `goes on in epoch ${epoch}`);
    this.#closeUnused(before);
    if (this.#parts.closes === "at once") void before.redlock.close();
  }

  /** Notes that a call starts in a session. */
  begin(session: Session): void {
    session.calls += 1;
  }

  /** Notes that a call and its lock have ended in a session. */
  end(session: Session): void {
    session.calls -= 1;
    this.#closeUnused(session);
  }

  #closeUnused(session: Session): void {
    if (session === this.session || session.calls > 0) return;
    void session.redlock.close().then(() => {
      session.isOver = true;
    });
  }

  #open(epoch: number): Session {
    return { epoch, ...this.#parts.open(epoch), calls: 0, isOver: false };
  }
}
