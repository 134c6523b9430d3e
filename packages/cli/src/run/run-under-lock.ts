import type { Lock, LockError, LockOptions, Redlock } from "@holdfast/core";
import type { Permits, Slot } from "@holdfast/core/semaphore";
import ms from "ms";
import { exitCodes, Failure } from "../exit-codes.ts";
import { connectionProblems, withUsageErrors } from "../failures.ts";
import { printable, printMessage } from "../output/print.ts";
import type { LockService } from "../servers/lock-service.ts";
import { haveQuorum, setsOf } from "../servers/sets.ts";
import type { Signals } from "../signals.ts";
import { type SupervisedCommand, supervise } from "./supervise.ts";

/** The command, and the lock under which it runs. */
export interface RunOptions extends SupervisedCommand {
  /** Empty if a ticket names them. */
  readonly resources: readonly string[];
  /** The ticket to adopt instead of acquiring a lock. */
  readonly ticket: string | undefined;
  /** Whether others may share the lock. */
  readonly mode: NonNullable<LockOptions["mode"]>;
  /** How many of the permits of a semaphore, which the only resource names, to acquire instead of a lock. */
  readonly permits: { readonly count: number; readonly total: number } | undefined;
  /** How long to wait for the lock, in milliseconds: 0 tries once, `Infinity` waits forever. */
  readonly waitMs: number;
  /** The exit code if another owner holds the lock for that long. */
  readonly conflictExitCode: number;
}

/**
 * Runs a command under a lock, or with permits, which is extended meanwhile and released at the end.
 *
 * @returns the exit code of the command, or {@link exitCodes.lost} if the lock was lost before the command ended
 * @throws {Failure} if the lock was not granted, or the command could not be started
 */
export async function runUnderLock(options: RunOptions, service: LockService, signals: Signals): Promise<number> {
  const held = await acquire(options, service, signals);
  if (held === undefined) return signals.exitCode;
  try {
    const { signal } = held;
    signal.throwIfAborted();
    const what = options.permits === undefined ? "the lock" : "a permit";
    const hold = { what, variables: variablesOf(held), signal, remainingMs: () => held.remainingMs() };
    const { exitCode, wasLost } = await supervise(options, hold, signals);
    return wasLost ? exitCodes.lost : exitCode;
  } finally {
    await held.release().catch((error: Error) => printMessage(`${error.message}; it ends with its ttl`));
  }
}

/** Acquires the lock or the permits. Returns undefined if a signal arrives first. */
async function acquire(
  { resources, ticket, mode, permits, waitMs, conflictExitCode, maxHoldMs, label }: RunOptions,
  service: LockService,
  { interrupted }: Signals,
): Promise<Lock | Permits | undefined> {
  const { redlock, servers } = service;
  assertQuorumPossible(service, ticket === undefined ? resources : ["the resources of the ticket"]);
  const lockOptions = { autoExtend: true, maxHoldMs, label, signal: interrupted };
  const options = { ...lockOptions, waitTimeoutMs: waitMs };
  try {
    const held = await withUsageErrors(async () => {
      if (ticket !== undefined) return redlock.adopt(ticket, lockOptions);
      if (permits === undefined) return redlock.acquire(resources, { ...options, mode });
      const { semaphore } = await import("@holdfast/core/semaphore");
      return semaphore(redlock, resources[0] as string, permits.total).acquire(permits.count, options);
    });
    if (!interrupted.aborted) return held;
    await held.release().catch(() => {});
    return undefined;
  } catch (error) {
    if (interrupted.aborted) return undefined;
    const { code, message, outcomes } = error as LockError;
    if (code === "LOCK_HELD" || code === "WAIT_TIMEOUT" || code === "TICKET_SPENT") {
      const isLock = ticket === undefined && permits === undefined;
      throw new Failure(isLock ? await conflictMessage(redlock, resources, waitMs) : message, conflictExitCode);
    }
    if (code === "QUORUM_UNREACHABLE") {
      throw new Failure(message + connectionProblems(servers, outcomes), exitCodes.noQuorum);
    }
    throw error;
  }
}

/**
 * Checks that waiting can succeed.
 *
 * @throws {Failure} if too many addresses are wrong for a quorum ever to reply
 */
export function assertQuorumPossible(
  { servers, joint }: Pick<LockService, "servers" | "joint">,
  resources: readonly string[],
): void {
  const useless = servers.filter(({ isMisaddressed }) => isMisaddressed());
  if (servers.length === 0 || haveQuorum(setsOf(servers, joint), (server) => !useless.includes(server))) return;
  const what = `could not lock ${resources.join(", ")}: ${useless.length} of ${servers.length} addresses are wrong`;
  throw new Failure(what + connectionProblems(useless), exitCodes.misconfigured);
}

/** Returns the message for a lock held by another owner, which names the holder if possible. */
async function conflictMessage(redlock: Redlock, resources: readonly string[], waitMs: number): Promise<string> {
  const inspections = await Promise.all(resources.map((resource) => redlock.inspect(resource)));
  const holders = inspections
    .filter(({ state }) => state === "held")
    .map(({ resource, holders }) => {
      const names = holders.map(({ label, owner }) => nameOf(label, owner));
      return `${resource} is held by ${names.join(", ")}`;
    });
  const reason = holders.length > 0 ? holders.join(", ") : "another owner held it";
  const effort = waitMs === 0 ? "" : ` within ${ms(waitMs)}`;
  return `could not lock ${resources.join(", ")}${effort}: ${reason}`;
}

/** Returns a name for the holder. The value of another program is not shown, because it may be a secret. */
function nameOf(label: string | null, owner: string): string {
  if (label !== null) return printable(label);
  return /^[0-9a-f]{32}(\.\d+)?$/.test(owner) ? owner : "another program";
}

/** Returns what the command is told. Each of several permits has a line of its own in every variable. */
function variablesOf(held: Lock | Permits): NodeJS.ProcessEnv {
  if ("slots" in held) {
    const lines = (field: keyof Slot): string => held.slots.map((slot) => slot[field]).join("\n");
    return {
      HOLDFAST_RESOURCE: lines("resource"),
      HOLDFAST_SLOT: lines("slot"),
      HOLDFAST_FENCE: lines("fence"),
      HOLDFAST_OWNER: lines("owner"),
    };
  }
  const { resources, fence, owner } = held;
  return {
    HOLDFAST_RESOURCE: resources.join("\n"),
    HOLDFAST_SLOT: undefined, // which this process may have inherited from a `run --permits`
    HOLDFAST_FENCE: String(fence),
    HOLDFAST_OWNER: owner,
  };
}
