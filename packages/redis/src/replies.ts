import type { AcquireReply, ExtendReply, NodeView, ReleaseReply } from "@holdfast/core";
import type { Introduction } from "./standing.ts";

/*
 * These read what the script replied. Clients may be set up to give integers and strings as strings or buffers. Anything
 * that the script cannot have replied (a proxy in between, say) is thrown as an error.
 */

/**
 * Takes the ticket off a reply. Some clients lose count after a connection was lost, and from then on give each command
 * the reply of the one before it (`@redis/client` 5 can be brought to it). Another lock's grant must not pass for ours.
 */
export function readTicket(reply: unknown, ticket: string): unknown[] {
  if (!Array.isArray(reply)) throw nonsense("a command", reply);
  if (String(reply[0]) !== ticket)
    throw new Error("the client mistook the reply to another command for the one to this");
  return reply.slice(1);
}

/** Reads the reply of `acquire`. */
export function readAcquireReply(reply: unknown[]): AcquireReply {
  const [granted, number] = integers("acquire", reply, 2);
  if (granted === 1 && number > 0) return { granted: true, fence: number };
  if (granted === 0 && number >= 0) return { granted: false, retryAfterMs: number };
  if (granted === 0 && number === -1) return { granted: false };
  if (granted === -1 && number > 0) throw new Error(`recovering from a restart, ${seconds(number)} left`);
  if (granted === -1 && number === -1) throw untoldUptime();
  throw nonsense("acquire", reply);
}

/** Reads the reply of `extend`. */
export function readExtendReply(reply: unknown[]): ExtendReply {
  const [held, number] = integers("extend", reply, 2);
  if (held === 1 && number > 0) return { held: true, fence: number };
  if (held === 0 && (number === 0 || number === 1)) return { held: false, rejoined: number === 1 };
  throw nonsense("extend", reply);
}

/** Reads the reply of `release`. */
export function readReleaseReply(reply: unknown[]): ReleaseReply {
  const [freed] = integers("release", reply, 1);
  if (freed < 0) throw nonsense("release", reply);
  return { released: freed > 0 };
}

/** Reads the reply of `introduce`. A server that tells only part of it is taken for one that tells nothing. */
export function readIntroduction(reply: unknown[]): Introduction {
  const [runId, role] = reply.map(textOf);
  if (runId === undefined || role === undefined) return { runId: undefined, isReplica: false };
  return { runId, isReplica: role !== "master" };
}

/** Reads the reply of `inspect`. */
export function readNodeView(reply: unknown[]): NodeView {
  if (reply.length !== 4) throw nonsense("inspect", reply);
  const owner = reply[0] === null ? null : textOf(reply[0]);
  const leftMs = integerOf(reply[1]);
  const fence = integerOf(reply[2]);
  const recoveringMs = integerOf(reply[3]);
  if (recoveringMs === -1) throw untoldUptime();
  if (owner === undefined || leftMs === undefined || !isCount(fence) || !isCount(recoveringMs)) {
    throw nonsense("inspect", reply);
  }
  const view = { owner, remainingMs: leftMs < 0 ? null : leftMs, fence };
  return recoveringMs === 0 ? view : { ...view, recoveringMs };
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

function integers(verb: string, reply: unknown[], count: 1): [number];
function integers(verb: string, reply: unknown[], count: 2): [number, number];
function integers(verb: string, reply: unknown[], count: number): number[] {
  if (reply.length !== count) throw nonsense(verb, reply);
  return reply.map((value) => {
    const integer = integerOf(value);
    if (integer === undefined) throw nonsense(verb, reply);
    return integer;
  });
}

function integerOf(value: unknown): number | undefined {
  if (Number.isSafeInteger(value)) return value as number;
  const text = textOf(value);
  if (text === undefined || !/^-?\d+$/.test(text)) return undefined;
  return Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" || Buffer.isBuffer(value) ? String(value) : undefined;
}

function nonsense(verb: string, reply: unknown): Error {
  const text = JSON.stringify(reply) ?? String(reply);
  return new Error(`the server answered ${verb} with ${text.slice(0, 100)}, which is not an answer of the lock script`);
}
