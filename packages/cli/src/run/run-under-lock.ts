import type { Lock, LockLostError, Redlock } from "@holdfast/core";
import ms from "ms";
import { exitCodes, Failure } from "../exit-codes.ts";
import { asAsked, connectionProblems, inOptionNames } from "../failures.ts";
import { complain, printable } from "../output/print.ts";
import type { LockService } from "../servers/lock-service.ts";
import { quorumOf, type Server } from "../servers/servers.ts";
import { endsPrograms, type Signals } from "../signals.ts";
import { startChild } from "./child.ts";

/** What to run, and under which lock. */
export interface RunOptions {
  readonly resources: readonly string[];
  readonly command: string;
  readonly commandArguments: readonly string[];
  /** How long to wait for the lock, in milliseconds: 0 tries once, `Infinity` never gives up. */
  readonly waitMs: number;
  /** The exit code when another owner holds the lock for that long. */
  readonly conflictExitCode: number;
  /** How long the lock is kept at the most, in milliseconds. */
  readonly maxHoldMs: number;
  /** How long a command that has lost its lock may go on after SIGTERM, in milliseconds. */
  readonly killAfterMs: number;
  readonly label: string;
  /** Whether the command leads a process group of its own. */
  readonly inGroup: boolean;
}

/**
 * Runs a command while it holds a lock, which is extended meanwhile and released at the end.
 *
 * @returns the exit code: that of the command; {@link exitCodes.lost} when the lock was lost before the command had ended
 * @throws {Failure} when there was no lock, or the command could not be started
 */
export async function runUnderLock(options: RunOptions, service: LockService, signals: Signals): Promise<number> {
  const lock = await acquire(options, service, signals);
  if (lock === undefined) return signals.exitCode;
  try {
    return await supervise(options, lock, signals);
  } finally {
    await lock.release().catch((error: Error) => complain(`${error.message}; it ends with its ttl`));
  }
}

/** The lock, or nothing if a signal came first. */
async function acquire(
  { resources, waitMs, conflictExitCode, maxHoldMs, label }: RunOptions,
  { redlock, servers }: LockService,
  { interrupted }: Signals,
): Promise<Lock | undefined> {
  assertQuorumPossible(servers, resources);
  const options = { waitTimeoutMs: waitMs, autoExtend: true, maxHoldMs, label, signal: interrupted };
  try {
    const lock = await asAsked(() => redlock.acquire(resources, options));
    if (!interrupted.aborted) return lock;
    await lock.release().catch(() => {});
    return undefined;
  } catch (error) {
    if (interrupted.aborted) return undefined;
    const { code, message } = error as { readonly code?: unknown; readonly message: string };
    if (code === "LOCK_HELD" || code === "WAIT_TIMEOUT") {
      throw new Failure(await conflictMessage(redlock, resources, waitMs), conflictExitCode);
    }
    if (code === "QUORUM_UNREACHABLE") throw new Failure(message + connectionProblems(servers), exitCodes.noQuorum);
    throw error;
  }
}

/**
 * @throws {Failure} when too few servers can ever answer, as the addresses of the others have the wrong scheme: waiting for
 *   them would be in vain
 */
function assertQuorumPossible(servers: readonly Server[], resources: readonly string[]): void {
  const useless = servers.filter(({ hasWrongScheme }) => hasWrongScheme());
  if (servers.length === 0 || servers.length - useless.length >= quorumOf(servers.length)) return;
  const what = `could not lock ${resources.join(", ")}: ${useless.length} of ${servers.length} addresses have the wrong scheme`;
  throw new Failure(what + connectionProblems(useless), exitCodes.misconfigured);
}

/** Says who holds the lock, if that can still be found out. */
async function conflictMessage(redlock: Redlock, resources: readonly string[], waitMs: number): Promise<string> {
  const inspections = await Promise.all(resources.map((resource) => redlock.inspect(resource)));
  const holders = inspections
    .filter(({ state }) => state === "held")
    .map(({ resource, label, owner }) => `${resource} is held by ${nameOf(label, owner ?? "")}`);
  const reason = holders.length > 0 ? holders.join(", ") : "another owner was in the way";
  const effort = waitMs === 0 ? "" : ` within ${ms(waitMs)}`;
  return `could not lock ${resources.join(", ")}${effort}: ${reason}`;
}

/** The value of a foreign program is not shown: it may be a secret. */
function nameOf(label: string | null, owner: string): string {
  if (label !== null) return printable(label);
  return /^[0-9a-f]{32}$/.test(owner) ? owner : "another program";
}

async function supervise(options: RunOptions, lock: Lock, signals: Signals): Promise<number> {
  const { command, commandArguments, inGroup, killAfterMs } = options;
  const { signal: lockSignal } = lock;
  lockSignal.throwIfAborted();
  const env = {
    ...process.env,
    HOLDFAST_RESOURCE: lock.resources.join("\n"),
    HOLDFAST_FENCE: String(lock.fence),
    HOLDFAST_OWNER: lock.owner,
  };
  const child = startChild(command, commandArguments, { env, inGroup });
  let wasToldToEnd = false;
  const pass = (name: NodeJS.Signals): void => {
    wasToldToEnd ||= endsPrograms(name);
    child.signal(name);
  };
  signals.passOnTo(pass, !inGroup);

  let ending: Promise<void> | undefined;
  const onLost = (): void => {
    ending = child.end(killAfterMs);
    // Last, as this waits where nobody reads standard error.
    complain(`lost the lock, ending the command: ${inOptionNames((lockSignal.reason as LockLostError).message)}`);
  };
  lockSignal.addEventListener("abort", onLost);
  try {
    const exitCode = await child.ended;
    // The leader of the group is gone. What it has started may still be at work, for which the lock is kept.
    if (inGroup && wasToldToEnd && ending === undefined) await child.end(killAfterMs);
    lock.remainingMs(); // looks at the clocks: after a suspension, no timer may have had its turn
    if (ending === undefined) return exitCode;
    await ending;
    return exitCodes.lost;
  } finally {
    lockSignal.removeEventListener("abort", onLost);
  }
}
