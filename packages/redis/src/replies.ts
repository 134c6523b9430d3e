import { EpochError } from "@holdfast/core";
import type { AcquireReply, ExtendReply, NodeView, ReleaseReply, ServerIdentity, Sharer } from "@holdfast/core/node";

/*
 * These functions read the replies of the script (see `lua/lock.lua`). Depending on its settings, a client returns
 * integers and strings as strings or buffers. A reply that the script cannot have sent, as from a proxy in between, is
 * an error.
 */

/** Returns a random number that the reply to a call must repeat, so that the reply to another call is recognised. */
export function newCallId(): number {
  return Math.floor(Math.random() * 2 ** 48);
}

/**
 * Throws unless a reply begins with the id of its call. After a lost connection, some clients lose count and give each
 * command the reply to the one before it (`@redis/client` 5 can do this). The grant of another lock must not be mistaken
 * for ours.
 */
export function assertCallId(replied: unknown, callId: number): void {
  if (integerOf(replied) !== callId) throw new Error("the client returned the reply to another command");
}

/** The part of a record that its answer refers to. */
type Asked = { readonly resources: readonly string[]; readonly fields: readonly string[] };

/** Reads the answer to `acquire`. The fields of the record begin with the owner, the hint, the ttl and the epoch. */
export function readAcquire(answer: unknown, { resources, fields }: Asked): AcquireReply {
  const number = answer === 0 ? 0 : integerOf(answer);
  const fence = number === 0 ? Number(fields[1]) : number;
  // An answer of 0 is a grant that was not repeated.
  if (fence > 0) return { granted: true, fence, ...(number === 0 && resources.length > 1 && { uniform: true }) };
  const [word, first, second, third] = listOf(answer);
  const status = textOf(word);
  const ms = integerOf(first);
  if (status === "denied" && ms >= -1) {
    const position = integerOf(second);
    const holder = textOf(third) || undefined;
    const held = resources[position - 1];
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
  if (status === "recovering" && ms > 0) {
    throw new Error(`recovering from a restart, ${(Math.ceil(ms / 100) / 10).toFixed(1)} s left`);
  }
  if (status === "epoch" && ms > 0) throw new EpochError(ms, Number(fields[3]));
  throw nonsense("acquire", answer);
}

/** Reads the answer to `extend`. */
export function readExtend(answer: unknown): ExtendReply {
  const fence = integerOf(answer);
  if (fence > 0) return { held: true, fence };
  if (fence >= -1) return { held: false, rejoined: fence === -1 };
  const [word, owner] = listOf(answer);
  const holder = textOf(owner);
  if (textOf(word) !== "held" || holder === undefined) throw nonsense("extend", answer);
  return { held: false, rejoined: false, ...(holder && { holder }) };
}

/** Reads the answer to `release`. */
export function readRelease(answer: unknown): ReleaseReply {
  const freed = answer === 1 ? 1 : integerOf(answer);
  if (freed >= 0) return { released: freed > 0 };
  const [word, waiter] = listOf(answer);
  const next = textOf(waiter);
  if (textOf(word) !== "next" || next === undefined) throw nonsense("release", answer);
  return { released: true, next };
}

/** Reads the answer to `identify`. An incomplete answer counts as none. */
export function readIdentity(answer: unknown): ServerIdentity {
  const [runId, role] = listOf(answer).map(textOf);
  return runId && role ? { id: `run_id ${runId}`, isReplica: role !== "master" } : { id: undefined, isReplica: false };
}

/** Reads the answer to `inspect`. */
export function readNodeView(answer: unknown): NodeView {
  const isView = Array.isArray(answer) && (answer.length === 4 || answer.length === 5);
  const [holder, left, counter, recovering, claims] = isView ? answer : listOf(answer);
  const owner = holder === null ? null : textOf(holder);
  const leftMs = integerOf(left);
  const fence = integerOf(counter);
  const recoveringMs = integerOf(recovering);
  if (recoveringMs === -1) throw unknownUptime();
  const sharers = claims === undefined ? [] : sharersIn(claims);
  const areCounts = fence >= 0 && recoveringMs >= 0 && Number.isInteger(leftMs);
  if (!isView || owner === undefined || !areCounts || sharers === undefined) throw nonsense("inspect", answer);
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
    if (owner === undefined || !(remainingMs >= 0)) return undefined;
    sharers.push({ owner, remainingMs });
  }
  return sharers;
}

/** Returns an answer that is a list: a word and its values. Throws if it is an error. */
function listOf(answer: unknown): readonly unknown[] {
  if (!Array.isArray(answer)) return [];
  if (textOf(answer[0]) === "error") throw new Error(textOf(answer[1]) ?? "the server gave no reason");
  return answer;
}

function unknownUptime(): Error {
  return new Error("the server does not report its uptime: the option restartGuardMs needs the permission +info");
}

/** Reads an integer, which may be text. Returns NaN if it is none, or not a safe one. */
export function integerOf(value: unknown): number {
  if (Number.isSafeInteger(value)) return value as number;
  const text = textOf(value) ?? "";
  const number = /^(0|-?[1-9]\d*)$/.test(text) ? Number(text) : NaN;
  return Number.isSafeInteger(number) ? number : NaN;
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
