/** Turns what is thrown into what the user is told. */
import type { LockError } from "@holdfast/core";
import { exitCodes, Failure, UsageError } from "./exit-codes.ts";
import { printable, withoutArguments } from "./output/print.ts";
import type { Server } from "./servers/servers.ts";

const codes: Readonly<Record<LockError["code"], number>> = {
  LOCK_HELD: exitCodes.held,
  WAIT_TIMEOUT: exitCodes.held,
  QUORUM_UNREACHABLE: exitCodes.noQuorum,
  LOCK_LOST: exitCodes.lost,
  MISCONFIGURED: exitCodes.misconfigured,
  CLOSED: exitCodes.internal,
  QUEUE_FULL: exitCodes.internal,
};

/** What core calls the options of the command line. */
const optionNames: Readonly<Record<string, string>> = {
  ttlMs: "--ttl",
  nodeTimeoutMs: "--node-timeout",
  maxHoldMs: "--max-hold",
  waitTimeoutMs: "--wait",
  restartGuardMs: "--restart-guard",
  label: "--label",
  prefix: "--prefix",
};

/** A message of core with the names that options have here. */
export function inOptionNames(message: string): string {
  return message.replaceAll(/\b[a-zA-Z]+Ms\b|^(label|prefix)\b/g, (word) => optionNames[word] ?? word);
}

/** The failure that anything thrown amounts to. What nobody has foreseen is a mistake in this program. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const { message, stack, code } = error as LockError;
  if (Object.hasOwn(codes, String(code))) return new Failure(message, codes[code]);
  return new Failure(`unexpected: ${stack ?? String(error)}`, exitCodes.internal);
}

/**
 * Calls core with what the user has asked for. What core refuses as a bad argument, the user has to put right.
 *
 * @throws {UsageError} instead of `TypeError` and `RangeError`, with the names that the options have here
 */
export async function asAsked<T>(call: () => T | PromiseLike<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof RangeError)) throw error;
    const isTime = /\b[a-zA-Z]+Ms\b/.test(error.message);
    throw new UsageError(`${inOptionNames(error.message)}${isTime ? " (in ms)" : ""}`);
  }
}

/** One line for each server to which there is no connection, saying why. */
export function connectionProblems(servers: readonly Server[]): string {
  return servers
    .map(({ name, connectionError }) => ({ name, error: connectionError() }))
    .filter(({ error }) => error !== undefined)
    .map(({ name, error }) => `\n  ${name}: ${reasonOf(error as NodeJS.ErrnoException)}`)
    .join("");
}

/**
 * What an error says, fit to be shown: without passwords that a server repeats. A name with several addresses fails with all
 * their errors at once, which has no message of its own.
 */
export function reasonOf({ message, code }: NodeJS.ErrnoException): string {
  return printable(withoutArguments(message) || `${code}`);
}
