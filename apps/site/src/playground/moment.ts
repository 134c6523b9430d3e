import type {
  AccessTrace,
  ClaimTrace,
  Expiry,
  LeaseTrace,
  MessageTrace,
  StorageKind,
  Trace,
} from "@holdfast/simulation";
import { isDuring, neededOf, type Span } from "./truth.ts";
import { storagesToShow } from "./words.ts";

/**
 * Everything that a picture of a run shows at one moment. Durations are in milliseconds. All clients of a story want the same
 * lock, and each has one worker.
 */
export interface Moment {
  /** The moment of true time. */
  readonly atMs: number;
  readonly nodes: readonly NodeMoment[];
  readonly clients: readonly ClientMoment[];
  /** The messages on their way. */
  readonly messages: readonly MessageMoment[];
  /** The storages to show. */
  readonly storages: readonly StorageMoment[];
}

/** The clock of a client or node. */
export interface ClockMoment {
  /** How far the clock is ahead of true time; negative if it is behind. */
  readonly clockAheadMs: number;
}

/** A node at one moment. */
export interface NodeMoment extends ClockMoment {
  readonly name: string;
  /** `guarded`: it is up, and does not vote yet, because it may have forgotten claims. */
  readonly state: "up" | "down" | "guarded";
  /** The claim in force. A node that is down keeps it unless it has lost its memory. */
  readonly claim: { readonly client: string; readonly remainingMs: number } | undefined;
  /** The fence counter. */
  readonly counter: number;
  /** The clients whose messages are lost. */
  readonly cutFrom: readonly string[];
}

/** A client at one moment. */
export interface ClientMoment extends ClockMoment {
  readonly name: string;
  readonly state: "runs" | "paused" | "crashed";
  /** Whether it calls for the lock. */
  readonly waits: boolean;
  /** On how many nodes the claim of its lock is in force, or any claim of it if it has no lock. */
  readonly claims: number;
  /** Its lock, if it has one in its own view. */
  readonly lock: LockMoment | undefined;
  /** How many messages have arrived that it has not read, as it is paused. */
  readonly unread: number;
}

/** A lock of a client: what the client believes, and the truth. */
export interface LockMoment {
  readonly fence: number;
  /** How long it is valid by the client's clocks; 0 if it is not valid any more, and the client has not noticed. */
  readonly remainingMs: number;
  /** Whether its claims are in force on enough nodes. */
  readonly isKept: boolean;
  /** The other clients that have the lock in their own view. */
  readonly rivals: readonly string[];
}

/** A message on its way: what is known of it when it has been sent. */
export interface MessageMoment extends Omit<MessageTrace, "readAtMs"> {
  /** How much of its way it has gone: from 0 to 1. */
  readonly progress: number;
}

/** A storage at one moment. Its value is a counter: each update is to add 1 to the value that its client has read. */
export interface StorageMoment {
  readonly kind: StorageKind;
  readonly value: number;
  /** The client that wrote it; undefined before the first write. */
  readonly writer: string | undefined;
  /** The highest token that it has accepted; 0 if none, or if it does not check tokens. */
  readonly highest: number;
  /** How many writes it has accepted. */
  readonly updates: number;
  /** How many of them are not in the value, because a write that had not read them replaced them. */
  readonly lostUpdates: number;
  /** How many reads and writes it has refused. */
  readonly refusals: number;
}

/** Returns what a picture shows at a moment, from 0 to `trace.endedAtMs`. Depends on nothing else. */
export function momentAt(trace: Trace, atMs: number): Moment {
  const claims = trace.claims.filter((claim) => isDuring(claim, atMs) && leftMs(claim.expiries, atMs) > 0);
  const now: Now = { trace, atMs, claims, leases: trace.leases.filter((lease) => isDuring(lease, atMs)) };
  return {
    atMs,
    nodes: trace.nodes.map((name) => nodeAt(now, name)),
    clients: trace.clients.map((name) => clientAt(now, name)),
    messages: trace.messages
      .filter(({ sentAtMs, arrivesAtMs }) => sentAtMs <= atMs && atMs < arrivesAtMs)
      .map(({ readAtMs, ...message }) => {
        const { sentAtMs, arrivesAtMs } = message;
        return { ...message, progress: (atMs - sentAtMs) / (arrivesAtMs - sentAtMs) };
      }),
    storages: storagesAt(trace, atMs),
  };
}

/** The state of a run at a moment. */
interface Now {
  readonly trace: Trace;
  readonly atMs: number;
  readonly claims: readonly ClaimTrace[];
  readonly leases: readonly LeaseTrace[];
}

/** Returns the time left until the expiry that is known at a moment. */
function leftMs(expiries: readonly Expiry[], atMs: number): number {
  return Math.max(0, (expiries.findLast((each) => each.atMs <= atMs)?.untilMs ?? atMs) - atMs);
}

function clockAt({ trace, atMs }: Pick<Now, "trace" | "atMs">, name: string): ClockMoment {
  const clock = trace.clocks.findLast((each) => each.of === name && each.atMs <= atMs);
  return { clockAheadMs: clock === undefined ? 0 : clock.offsetMs + (clock.rate - 1) * atMs };
}

function nodeAt(now: Now, name: string): NodeMoment {
  const { trace, atMs } = now;
  const outages = trace.outages.filter(({ node, fromMs }) => node === name && fromMs <= atMs);
  const upAtMs = Math.max(0, ...outages.map(({ untilMs }) => untilMs));
  // A node that loses its memory again starts with a guard of its own, or without one.
  const votesFromMs = outages.findLast(({ memory }) => memory === "lost")?.votesFromMs ?? 0;
  const claim = now.claims.find(({ node }) => node === name);
  const cuts = trace.partitions.filter((cut) => cut.nodes.includes(name) && isDuring(cut, atMs));
  return {
    name,
    state: atMs < upAtMs ? "down" : atMs < votesFromMs ? "guarded" : "up",
    claim: claim && { client: claim.client, remainingMs: leftMs(claim.expiries, atMs) },
    counter: trace.counters.findLast((each) => each.node === name && each.atMs <= atMs)?.counter ?? 0,
    cutFrom: cuts.flatMap(({ clients }) => clients),
    ...clockAt(now, name),
  };
}

function clientAt({ trace, atMs, ...now }: Now, name: string): ClientMoment {
  const isOwn = ({ client }: { readonly client: string }): boolean => client === name;
  const isOwnNow = (span: Span & { readonly client: string }): boolean => isOwn(span) && isDuring(span, atMs);
  const hasCrashed = trace.deaths.some((death) => isOwn(death) && death.atMs <= atMs);
  const lease = hasCrashed ? undefined : now.leases.find(isOwn);
  const claims = now.claims.filter((claim) => isOwn(claim) && claim.attempt === (lease ?? claim).attempt).length;
  const unread = trace.messages.filter(
    ({ to, part, isLost, arrivesAtMs, readAtMs = Infinity }) =>
      to === name && part !== "request" && !isLost && arrivesAtMs <= atMs && atMs < readAtMs,
  );
  return {
    name,
    state: hasCrashed ? "crashed" : trace.pauses.some(isOwnNow) ? "paused" : "runs",
    waits: trace.calls.some(isOwnNow),
    claims,
    lock: lease && {
      fence: lease.fence,
      remainingMs: leftMs(lease.validity, atMs),
      isKept: claims >= neededOf(trace),
      rivals: now.leases.filter((other) => !isOwn(other)).map(({ client }) => client),
    },
    unread: hasCrashed ? 0 : unread.length,
    ...clockAt({ trace, atMs }, name),
  };
}

function storagesAt(trace: Trace, atMs: number): StorageMoment[] {
  const arrived = trace.accesses.filter(({ arrivesAtMs }) => arrivesAtMs <= atMs);
  const sorted = arrived.sort((a, b) => a.arrivesAtMs - b.arrivesAtMs);
  return storagesToShow(trace).map((kind) => storageAfter(kind, sorted));
}

/** Returns a storage after these accesses. */
function storageAfter(kind: StorageKind, accesses: readonly AccessTrace[]): StorageMoment {
  /** The counter that each attempt has read last. */
  const read = new Map<string, number>();
  let [value, highest, updates, refusals] = [0, 0, 0, 0];
  let writer: string | undefined;
  for (const { attempt, client, kind: action, results } of accesses) {
    const result = results?.[kind];
    if (result?.outcome === "refused") refusals += 1;
    if (result?.outcome !== "accepted") continue;
    highest = result.highest;
    if (action === "write") {
      updates += 1;
      value = (read.get(attempt) ?? 0) + 1;
      writer = client;
    } else read.set(attempt, value);
  }
  return { kind, value, writer, highest, updates, lostUpdates: updates - value, refusals };
}

/** Returns the moments at which something happens, sorted, from 0 to `trace.endedAtMs`, both included. */
export function steps(trace: Trace): readonly number[] {
  const { messages, claims, leases, calls, accesses, clocks, outages, pauses, partitions, deaths, endedAtMs } = trace;
  const spans = [...claims, ...leases, ...calls, ...outages, ...pauses, ...partitions];
  const moments = [
    ...[0, endedAtMs],
    ...messages.flatMap(({ sentAtMs, arrivesAtMs, readAtMs = 0 }) => [sentAtMs, arrivesAtMs, readAtMs]),
    ...accesses.flatMap(({ sentAtMs, arrivesAtMs }) => [sentAtMs, arrivesAtMs]),
    ...spans.flatMap(({ fromMs, untilMs }) => [fromMs, untilMs]),
    ...outages.map(({ votesFromMs }) => votesFromMs),
    ...[...clocks, ...deaths].map(({ atMs }) => atMs),
    ...claims
      .flatMap(({ expiries, end }) => (end === undefined ? expiries.slice(-1) : []))
      .map(({ untilMs }) => untilMs),
  ];
  return [...new Set(moments.filter((atMs) => atMs >= 0 && atMs <= endedAtMs))].sort((a, b) => a - b);
}
