/** Converts errors into messages and exit codes for the user. */
import type { LockError, NodeOutcome } from "@holdfast/core";
import { exitCodes, Failure, UsageError } from "./exit-codes.ts";
import { printable, withoutArguments } from "./output/print.ts";
import type { Server } from "./servers/server.ts";

const codes: Readonly<Record<LockError["code"] | "MEMBERSHIP", number>> = {
  LOCK_HELD: exitCodes.held,
  WAIT_TIMEOUT: exitCodes.held,
  QUORUM_UNREACHABLE: exitCodes.noQuorum,
  LOCK_LOST: exitCodes.lost,
  TICKET_SPENT: exitCodes.held,
  MISCONFIGURED: exitCodes.misconfigured,
  CLOSED: exitCodes.internal,
  QUEUE_FULL: exitCodes.internal,
  MEMBERSHIP: exitCodes.noQuorum,
};

/** The command line options by the names of the options in core and redis. */
const optionNames: Readonly<Record<string, string>> = {
  ttlMs: "--ttl",
  nodeTimeoutMs: "--node-timeout",
  maxHoldMs: "--max-hold",
  waitTimeoutMs: "--wait",
  restartGuardMs: "--restart-guard",
  settleMs: "--settle",
  watchMs: "--watch-for",
  clocksDifferMs: "--clocks-differ",
  label: "--label",
  ticket: "--ticket",
  prefix: "--prefix",
};

/** Replaces the names of core's options in a message with those of the command line. */
export function inOptionNames(message: string): string {
  return message.replaceAll(/\b[a-zA-Z]+Ms\b|^(label|prefix|ticket)\b/g, (word) => optionNames[word] ?? word);
}

/** Converts any thrown value into a failure. An unforeseen error counts as a bug in this program. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { message, stack, code, outcomes } = error as LockError;
  if (Object.hasOwn(codes, String(code))) return new Failure(message + generationAdvice(outcomes), codes[code]);
  return new Failure(`unexpected: ${stack ?? String(error)}`, exitCodes.internal);
}

/**
 * Calls a function with the user's options, and converts the errors about these options.
 *
 * @throws {UsageError} instead of `TypeError` and `RangeError`, with the names of the command line options
 */
export async function withUsageErrors<T>(call: () => T | PromiseLike<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    const isTime = /\b[a-zA-Z]+Ms\b/.test(error.message);
    throw new UsageError(`${inOptionNames(error.message)}${isTime ? " (in ms)" : ""}`);
  }
}

/** Returns a line of advice if servers refused the generation of this client. */
function generationAdvice(outcomes: readonly NodeOutcome[] = []): string {
  const isRefused = outcomes.some(({ error }) => (error as NodeJS.ErrnoException | undefined)?.code === "EPOCH");
  return isRefused
    ? "\n  the servers are at another stage of a change: see holdfast migrate status, and --generation"
    : "";
}

/**
 * Returns a line with the reason for each server that is not connected.
 *
 * @param told the failures of an error, whose message already has most of the reasons
 */
export function connectionProblems(
  servers: readonly Server[],
  told: readonly Pick<NodeOutcome, "node" | "error">[] = [],
): string {
  const lines = servers.flatMap(({ name, connectionError }) => {
    const problem = connectionError();
    if (problem === undefined) return [];
    const reason = reasonOf(problem);
    const isTold = told.some(({ node, error }) => node === name && error?.message.includes(reason));
    return isTold ? [] : `\n  ${name}: ${reason}`;
  });
  return lines.join("");
}

/**
 * Returns the message of an error for display, without passwords that a server quotes. The error of a host with several
 * addresses has no message, only a code.
 */
export function reasonOf({ message, code }: NodeJS.ErrnoException): string {
  return printable(withoutArguments(message) || `${code}`);
}
