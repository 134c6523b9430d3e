import { on } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { createDice } from "@holdfast/app-kit/dice";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { ClientMessage } from "../client/messages.ts";
import type { Journal } from "../history/journal.ts";
import type { Band } from "../history/visit.ts";
import type { World } from "../world/world.ts";

/** The result of an action. */
export type Step = Promise<unknown> | unknown;

/** Whether this is the expected message. */
export type MessageTest = (message: ClientMessage) => boolean;

/** A wait timed out. */
export class Stuck extends Error {
  override readonly name = "Stuck";
}

/** What an attack strikes, and for how long. */
export interface Plan {
  /** The names of its targets. */
  readonly nodes: readonly string[];
  readonly clients: readonly string[];
  /** The planned duration, in milliseconds. */
  readonly durationMs: number;
  /** The seed for the draws of the attack. */
  readonly seed: number;
}

/** The stage of an attack. */
export type Stage = ReturnType<typeof openStage>;

/** How long a busy machine may take to grant a lock, or to reply. */
const patienceMs = 15_000;

/** What an attack is made of. */
interface Props {
  readonly ttlMs: number;
  readonly journal: Journal;
  readonly signal: AbortSignal;
}

/** Opens the stage of an attack. Its waits reject when the signal aborts or the world breaks. */
export function openStage(world: World, plan: Plan, { ttlMs, journal, signal }: Props) {
  let faults: { readonly band: Band; readonly end: () => Step }[] = [];
  const unlessBroken = <T>(promise: Promise<T>): Promise<T> => Promise.race([promise, world.broken]);
  /**
   * Waits for a message of a client.
   *
   * @throws {Stuck} when the wait times out
   */
  const until = async (what: string, isIt: MessageTest): Promise<void> => {
    const late = AbortSignal.timeout(patienceMs);
    const hear = async (): Promise<void> => {
      const messages = on(world.reports, "message", { signal: AbortSignal.any([signal, late]) });
      for await (const [message] of messages) if (isIt(message)) return;
    };
    await unlessBroken(hear()).catch((error) => {
      throw late.aborted && !signal.aborted ? new Stuck(`waited ${patienceMs / 1000} s for ${what}`) : error;
    });
  };
  /** Waits for a lock whose attempt begins after now. */
  const nextGrant = (what: string): Promise<void> => {
    const nowMs = monotonicMs();
    return until(what, (message) => message.kind === "granted" && message.grant.attemptAtMs > nowMs);
  };
  const pass = (ms: number): Promise<void> => unlessBroken(sleep(ms, undefined, { signal }));
  // The rest is the time before and after the fault.
  const durationMs = 0.8 * plan.durationMs;

  return {
    /** The nodes that it strikes. */
    nodes: plan.nodes.flatMap((name) => world.nodes.filter((node) => node.name === name)),
    /** The clients that it strikes. */
    clients: plan.clients.flatMap((name) => world.clients.filter((client) => client.name === name)),
    ttlMs,
    /** The duration of a fault, if nothing else ends it. */
    durationMs,
    dice: createDice(plan.seed),
    /** Starts a fault that lasts until `heal()`. */
    async begin(lane: string, label: string, begin: () => Step, end: () => Step): Promise<void> {
      faults.push({ band: journal.begin(lane, label), end });
      await begin();
    },
    /** Runs an action that is a fault while it runs. */
    during: (lane: string, label: string, action: () => Step) => journal.during(lane, label, action),
    /** Runs an action whose effect lasts until the nemesis is reset. */
    async fromNowOn(lane: string, label: string, action: () => Step): Promise<void> {
      journal.begin(lane, label);
      await action();
    },
    /** Ends all faults. Safe to call more than once. */
    async heal(): Promise<void> {
      const healed = faults;
      faults = [];
      await Promise.all(healed.map(({ end }) => end()));
      for (const { band } of healed) band.toMs = monotonicMs();
    },
    /** Waits for `durationMs`, and for a lock that the remaining majority grants. */
    async last(): Promise<void> {
      await Promise.all([pass(durationMs), nextGrant("a lock during the fault")]);
    },
    sleep: pass,
    until,
    nextGrant,
  };
}
