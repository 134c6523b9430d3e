import type { AcquireReply, ExtendReply, NodeView, ReleaseReply } from "@holdfast/core";
import type { Introduction } from "./standing.ts";

/*
 * These read what the script replied. Clients may be set up to give integers and strings as strings or buffers. Anything
 * that the script cannot have replied (a proxy in between, say) is thrown as an error.
 */

/** How the answer to one kind of operation is read. */
export interface Reader<Answer> {
  /** What the operation is called in errors. */
  readonly name: string;
  /** How many elements of the reply belong to the answer. */
  readonly size: number;
  /**
   * Reads the answer that begins at this index. Throws what the server says went wrong, and what is no answer.
   *
   * @param resources what was asked about
   */
  read(reply: readonly unknown[], at: number, resources: readonly string[]): Answer;
}

/**
 * Throws unless the reply is one to the call with this ticket and these operations. Some clients lose count after a
 * connection was lost, and from then on give each command the reply of the one before it (`@redis/client` 5 can be brought
 * to it). Another lock's grant must not pass for ours.
 */
export function insistOnReply(
  reply: unknown,
  ticket: number,
  operations: readonly { readonly reader: Reader<unknown> }[],
): asserts reply is readonly unknown[] {
  const names = () => operations.map(({ reader }) => reader.name).join(", ");
  if (!Array.isArray(reply)) throw nonsense(names(), reply);
  insistOnTicket(reply, ticket);
  let size = 1;
  for (const { reader } of operations) size += reader.size;
  if (reply.length !== size) throw nonsense(names(), reply.slice(1));
}

/** Throws unless the reply begins with the ticket of the call. */
export function insistOnTicket(reply: readonly unknown[], ticket: number): void {
  if (integerOf(reply[0]) === ticket) return;
  throw new Error("the client mistook the reply to another command for the one to this");
}

/** Reads the answer to `acquire`. */
export const acquireReader: Reader<AcquireReply> = {
  name: "acquire",
  size: 2,
  read(reply, at, resources) {
    const granted = statusOf(reply, at);
    const number = integerOf(reply[at + 1]);
    if (granted === undefined || number === undefined) throw nonsenseAt(this, reply, at);
    if (granted === 1 && number > 0) return { granted: true, fence: number };
    if (granted === 0 && number >= 0) return { granted: false, retryAfterMs: number };
    if (granted === 0 && number === -1) return { granted: false };
    const held = resources[-2 - granted];
    if (held !== undefined && number >= -1) {
      return { granted: false, ...(number >= 0 && { retryAfterMs: number }), heldResources: [held] };
    }
    if (granted === -1 && number > 0) throw new Error(`recovering from a restart, ${seconds(number)} left`);
    if (granted === -1 && number === -1) throw untoldUptime();
    throw nonsenseAt(this, reply, at);
  },
};

/** Reads the answer to `extend`. */
export const extendReader: Reader<ExtendReply> = {
  name: "extend",
  size: 2,
  read(reply, at) {
    const held = statusOf(reply, at);
    const number = integerOf(reply[at + 1]);
    if (held === 1 && number !== undefined && number > 0) return { held: true, fence: number };
    if (held === 0 && (number === 0 || number === 1)) return { held: false, rejoined: number === 1 };
    throw nonsenseAt(this, reply, at);
  },
};

/** Reads the answer to `release`. */
export const releaseReader: Reader<ReleaseReply> = {
  name: "release",
  size: 1,
  read(reply, at) {
    const freed = statusOf(reply, at);
    const next = freed === undefined ? textOf(reply[at]) : undefined;
    if (next?.startsWith("=")) return { released: true, next: next.slice(1) };
    if (!isCount(freed)) throw nonsenseAt(this, reply, at);
    return { released: freed > 0 };
  },
};

/** Reads the answer to `introduce`. A server that tells only part of it is taken for one that tells nothing. */
export const introductionReader: Reader<Introduction> = {
  name: "introduce",
  size: 3,
  read(reply, at) {
    statusOf(reply, at);
    const runId = textOf(reply[at + 1]);
    const role = textOf(reply[at + 2]);
    if (!runId || !role) return { runId: undefined, isReplica: false };
    return { runId, isReplica: role !== "master" };
  },
};

/** Reads the answer to `inspect`. */
export const nodeViewReader: Reader<NodeView> = {
  name: "inspect",
  size: 5,
  read(reply, at) {
    const isTold = statusOf(reply, at) === 1;
    const owner = reply[at + 1] === null ? null : textOf(reply[at + 1]);
    const leftMs = integerOf(reply[at + 2]);
    const fence = integerOf(reply[at + 3]);
    const recoveringMs = integerOf(reply[at + 4]);
    if (recoveringMs === -1) throw untoldUptime();
    if (!isTold || owner === undefined || leftMs === undefined || !isCount(fence) || !isCount(recoveringMs)) {
      throw nonsenseAt(this, reply, at);
    }
    const view = { owner, remainingMs: leftMs < 0 ? null : leftMs, fence };
    return recoveringMs === 0 ? view : { ...view, recoveringMs };
  },
};

/** What an answer begins with. Throws if that is an error. */
function statusOf(reply: readonly unknown[], at: number): number | undefined {
  const status = integerOf(reply[at]);
  if (status !== undefined) return status;
  const text = textOf(reply[at]);
  if (text?.startsWith("!")) throw new Error(text.slice(1));
  return undefined;
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && value >= 0;
}

function untoldUptime(): Error {
  return new Error("the server does not tell its uptime: the option restartGuardMs needs the permission +info");
}

/** Rounded up: "7.2 s". */
function seconds(ms: number): string {
  return `${(Math.ceil(ms / 100) / 10).toFixed(1)} s`;
}

/** An integer that may have come as text. Undefined if it is none, or no safe one. */
export function integerOf(value: unknown): number | undefined {
  if (Number.isSafeInteger(value)) return value as number;
  const text = textOf(value);
  if (text === undefined || !/^-?\d+$/.test(text)) return undefined;
  return Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" || Buffer.isBuffer(value) ? String(value) : undefined;
}

function nonsenseAt({ name, size }: Reader<unknown>, reply: readonly unknown[], at: number): Error {
  return nonsense(name, reply.slice(at, at + size));
}

function nonsense(operation: string, reply: unknown): Error {
  const text = JSON.stringify(reply) ?? String(reply);
  return new Error(
    `the server answered ${operation} with ${text.slice(0, 100)}, which is not an answer of the lock script`,
  );
}
