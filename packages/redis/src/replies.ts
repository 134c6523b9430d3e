import {
  type AcquireReply,
  EpochError,
  type ExtendReply,
  type NodeView,
  type ReleaseReply,
  type Sharer,
} from "@holdfast/core";
import type { ServerIdentity } from "./server-check.ts";

/*
 * These functions read the replies of the script (see `lua/lock.lua`). Depending on its settings, a client returns
 * integers and strings as strings or buffers. A reply that the script cannot have sent, as from a proxy in between, is
 * an error.
 */

/**
 * Throws unless this is the reply to the call with this id. After a lost connection, some clients lose count and give
 * each command the reply to the one before it (`@redis/client` 5 can do this). The grant of another lock must not be
 * mistaken for ours.
 *
 * @param operations what the call asked for: each has an answer, after the call id
 */
export function assertReply(
  reply: unknown,
  callId: number,
  operations: readonly { readonly name: string }[],
): asserts reply is readonly unknown[] {
  const isList = Array.isArray(reply);
  if (isList && reply[0] !== callId && integerOf(reply[0]) !== callId) {
    throw new Error("the client returned the reply to another command");
  }
  if (isList && reply.length === operations.length + 1) return;
  throw nonsense(operations.map(({ name }) => name).join(", "), isList ? reply.slice(1) : reply);
}

/** Reads the answer to `acquire`. */
export function readAcquire(
  answer: unknown,
  resources: readonly string[],
  fenceHint: number,
  epoch: number,
): AcquireReply {
  const number = integerOf(answer);
  const fence = number === 0 ? fenceHint : number;
  if (fence !== undefined && fence > 0) return { granted: true, fence };
  const { status, first, second, third } = detailsOf(answer);
  const ms = integerOf(first);
  if (status === "denied" && ms !== undefined && ms >= -1) {
    const position = integerOf(second);
    const holder = textOf(third) || undefined;
    const held = position === undefined ? undefined : resources[position - 1];
    if (position === 0 || held !== undefined) {
      return {
        granted: false,
        retryAfterMs: ms === -1 ? Infinity : ms,
        ...(held !== undefined && holder !== undefined && { holder }),
        ...(held !== undefined && resources.length > 1 && { heldResources: [held] }),
      };
    }
  }
  if (status === "recovering" && ms === -1) throw unknownUptime();
  if (status === "recovering" && ms !== undefined && ms > 0) {
    throw new Error(`recovering from a restart, ${seconds(ms)} left`);
  }
  if (status === "epoch" && ms !== undefined && ms > 0) throw new EpochError(ms, epoch);
  throw nonsense("acquire", answer);
}

/** Reads the answer to `extend`. */
export function readExtend(answer: unknown): ExtendReply {
  const fence = integerOf(answer);
  if (fence === undefined) detailsOf(answer);
  if (fence === undefined || fence < -1) throw nonsense("extend", answer);
  return fence > 0 ? { held: true, fence } : { held: false, rejoined: fence === -1 };
}

/** Reads the answer to `release`. */
export function readRelease(answer: unknown): ReleaseReply {
  const freed = integerOf(answer);
  if (isCount(freed)) return { released: freed > 0 };
  const { status, first } = detailsOf(answer);
  const next = textOf(first);
  if (status !== "next" || next === undefined) throw nonsense("release", answer);
  return { released: true, next };
}

/** Reads the answer to `identify`. An incomplete answer counts as none. */
export function readIdentity(answer: unknown): ServerIdentity {
  detailsOf(answer);
  const [runId, role] = Array.isArray(answer) ? answer.map(textOf) : [];
  return runId && role ? { runId, isReplica: role !== "master" } : { runId: undefined, isReplica: false };
}

/** Reads the answer to `inspect`. */
export function readNodeView(answer: unknown): NodeView {
  const isView = Array.isArray(answer) && (answer.length === 4 || answer.length === 5);
  if (!isView) detailsOf(answer);
  const [holder, left, counter, recovering, claims] = isView ? answer : [];
  const owner = holder === null ? null : textOf(holder);
  const leftMs = integerOf(left);
  const fence = integerOf(counter);
  const recoveringMs = integerOf(recovering);
  if (recoveringMs === -1) throw unknownUptime();
  const sharers = claims === undefined ? [] : sharersIn(claims);
  const isComplete = owner !== undefined && leftMs !== undefined && sharers !== undefined;
  if (!isComplete || !isCount(fence) || !isCount(recoveringMs)) throw nonsense("inspect", answer);
  return {
    owner,
    remainingMs: leftMs < 0 ? null : leftMs,
    ...(sharers.length > 0 && { sharers }),
    fence,
    ...(recoveringMs > 0 && { recoveringMs }),
  };
}

/** Reads a list of owners and remaining times. Returns undefined if it is none. */
function sharersIn(claims: unknown): readonly Sharer[] | undefined {
  if (!Array.isArray(claims) || claims.length === 0 || claims.length % 2 !== 0) return undefined;
  const sharers: Sharer[] = [];
  for (let index = 0; index < claims.length; index += 2) {
    const owner = textOf(claims[index]);
    const remainingMs = integerOf(claims[index + 1]);
    if (owner === undefined || !isCount(remainingMs)) return undefined;
    sharers.push({ owner, remainingMs });
  }
  return sharers;
}

/** Reads an answer that is a list: a word and its values. Throws if it is an error. */
function detailsOf(answer: unknown): {
  readonly status?: string | undefined;
  readonly first?: unknown;
  readonly second?: unknown;
  readonly third?: unknown;
} {
  if (!Array.isArray(answer)) return {};
  const status = textOf(answer[0]);
  if (status === "error") throw new Error(textOf(answer[1]) ?? "the server gave no reason");
  return { status, first: answer[1], second: answer[2], third: answer[3] };
}

export function isCount(value: number | undefined): value is number {
  return value !== undefined && value >= 0;
}

function unknownUptime(): Error {
  return new Error("the server does not report its uptime: the option restartGuardMs needs the permission +info");
}

/** Formats a duration in seconds, rounded up: "7.2 s". */
function seconds(ms: number): string {
  return `${(Math.ceil(ms / 100) / 10).toFixed(1)} s`;
}

/** Reads an integer, which may be text. Returns undefined if it is none, or not a safe one. */
export function integerOf(value: unknown): number | undefined {
  if (Number.isSafeInteger(value)) return value as number;
  const text = textOf(value);
  if (text === undefined || !/^(0|-?[1-9]\d*)$/.test(text)) return undefined;
  return Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

/** Reads a text, which may be bytes. Returns undefined if it is none. */
export function textOf(value: unknown): string | undefined {
  return typeof value === "string" || Buffer.isBuffer(value) ? String(value) : undefined;
}

/** Returns an error about a reply that the script cannot have sent. */
export function nonsense(operation: string, reply: unknown): Error {
  const text = JSON.stringify(reply) ?? String(reply);
  return new Error(
    `the server answered ${operation} with ${text.slice(0, 100)}, which is not an answer of the lock script`,
  );
}
