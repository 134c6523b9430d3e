import type {
  AccessTrace,
  ClaimTrace,
  Expiry,
  LeaseTrace,
  MessageTrace,
  StorageKind,
  Trace,
} from "@holdfast/simulation";
import { indexOf, lastAt, type TraceIndex } from "./trace-index.ts";
import { conflict } from "./truth.ts";
import { capitalized, listed } from "./words.ts";

/** Everything that a picture of a run shows at one moment. Durations are in milliseconds. */
export interface Moment {
  /** The moment of true time. */
  readonly atMs: number;
  readonly nodes: readonly NodeMoment[];
  readonly clients: readonly ClientMoment[];
  /** The messages on their way. */
  readonly messages: readonly MessageMoment[];
  readonly storages: readonly StorageMoment[];
  /** The links that lose messages. */
  readonly cuts: readonly Cut[];
}

/** The clock of a client or node. */
interface ClockMoment {
  /** How far the clock is ahead of true time; negative if it is behind. */
  readonly clockAheadMs: number;
}

/** A node at one moment. */
export interface NodeMoment extends ClockMoment {
  readonly name: string;
  /** `guarded`: it is up, and does not vote yet, because it may have forgotten claims. */
  readonly state: "up" | "down" | "guarded";
  /** When it will be up, or vote, again; undefined if it votes. */
  readonly backAtMs: number | undefined;
  /** The claims in force. A node that is down keeps them unless it has lost its memory. */
  readonly claims: readonly ClaimMoment[];
  /** The fence counter of each resource that has one. */
  readonly counters: readonly { readonly resource: string; readonly counter: number }[];
}

/** A claim in force. */
export interface ClaimMoment extends Pick<ClaimTrace, "resource" | "attempt" | "client" | "fence" | "mode"> {
  /** How long until it expires. */
  readonly remainingMs: number;
  /** How much of the time from its last extension to its expiry is left: from 0 to 1. */
  readonly remainingShare: number;
}

/** A client at one moment. */
export interface ClientMoment extends ClockMoment {
  readonly name: string;
  /** `holding`: it has a lock in its own view. `waiting`: it calls for one, and has none. */
  readonly state: "idle" | "waiting" | "holding" | "crashed";
  /** When its pause ends; undefined if it is not paused. */
  readonly pausedUntilMs: number | undefined;
  /** The resources that it waits for. */
  readonly waitsFor: readonly string[];
  /** Its locks, as it sees them. */
  readonly locks: readonly LockMoment[];
  /** How many messages have arrived that it has not read, as it is paused. */
  readonly unread: number;
}

/** A lock of a client: what the client believes, and the truth. */
export interface LockMoment extends Pick<LeaseTrace, "attempt" | "resources" | "fence" | "mode"> {
  /** How long it is valid by the client's clocks; 0 if it is not valid any more, and the client has not noticed. */
  readonly remainingMs: number;
  /** How much of the time from its last extension to its end is left: from 0 to 1. */
  readonly remainingShare: number;
  /** The nodes on which its claim is in force on all its resources. */
  readonly nodes: readonly string[];
  /** Whether these are a majority of the nodes: a quorum of each set of nodes of which the lock needs one. */
  readonly hasMajority: boolean;
  /** The clients that hold locks that this one excludes, in their own view. */
  readonly rivals: readonly string[];
}

/** A message on its way: what is known of it when it has been sent. */
export interface MessageMoment extends Omit<MessageTrace, "readAtMs"> {
  /** How much of its way it has gone: from 0 to 1. */
  readonly progress: number;
}

/** A storage at one moment. */
export interface StorageMoment {
  readonly kind: StorageKind;
  /** The value of each resource, in the order of the trace. */
  readonly values: readonly StoredValue[];
  /** How many writes it has accepted. */
  readonly updates: number;
  /** How many of them are not in the values, because a write that had not read them replaced them. */
  readonly lostUpdates: number;
  /** How many reads and writes it has refused. */
  readonly refusals: number;
}

/** A value in a storage. */
export interface StoredValue {
  readonly resource: string;
  /** A counter: each update is to add 1 to the value that its client has read. */
  readonly value: number;
  /** The attempt that wrote it; undefined before the first write. */
  readonly writtenBy: string | undefined;
  /** The highest token that the storage has accepted; 0 if none, or if it does not check tokens. */
  readonly highest: number;
}

/** A link that loses messages: there is one for each link. */
export interface Cut {
  readonly client: string;
  readonly node: string;
  readonly part: "requests" | "replies" | "both";
}

/** Returns what a picture shows at a moment, from 0 to `trace.endedAtMs`. Depends on nothing else. */
export function momentAt(trace: Trace, atMs: number): Moment {
  const now = nowIn(trace, atMs);
  return {
    atMs,
    nodes: trace.nodes.map((name) => nodeAt(now, name)),
    clients: trace.clients.map((name) => clientAt(now, name)),
    messages: now.index.messagesAt(atMs).map(({ readAtMs, ...message }) => {
      return { ...message, progress: share(message.sentAtMs, atMs, message.arrivesAtMs) };
    }),
    storages: storagesAt(trace, atMs),
    cuts: cutsAt(now),
  };
}

/** The state of a run at a moment, and how to find more. */
interface Now {
  readonly trace: Trace;
  readonly index: TraceIndex;
  readonly atMs: number;
  readonly claims: readonly ClaimTrace[];
  readonly leases: readonly LeaseTrace[];
}

function nowIn(trace: Trace, atMs: number): Now {
  const index = indexOf(trace);
  const isInForce = ({ expiries }: ClaimTrace): boolean => leftAt(expiries, atMs).remainingMs > 0;
  return { trace, index, atMs, claims: index.claimsAt(atMs).filter(isInForce), leases: index.leasesAt(atMs) };
}

/** How much of a way from one moment to another is behind: from 0 to 1. */
function share(fromMs: number, atMs: number, untilMs: number): number {
  return untilMs <= fromMs ? 1 : Math.min(1, Math.max(0, (atMs - fromMs) / (untilMs - fromMs)));
}

/** The time left until the expiry that is known at a moment. */
function leftAt(expiries: readonly Expiry[], atMs: number): Pick<LockMoment, "remainingMs" | "remainingShare"> {
  const { atMs: fromMs, untilMs } = lastAt(expiries, atMs) ?? { atMs, untilMs: atMs };
  return { remainingMs: Math.max(0, untilMs - atMs), remainingShare: 1 - share(fromMs, atMs, untilMs) };
}

function clockAt({ index, atMs }: Now, name: string): ClockMoment {
  const clock = index.clockAt(name, atMs);
  return { clockAheadMs: clock === undefined ? 0 : clock.offsetMs + (clock.rate - 1) * atMs };
}

function nodeAt(now: Now, name: string): NodeMoment {
  const { trace, index, atMs } = now;
  const outages = trace.outages.filter(({ node, fromMs }) => node === name && fromMs <= atMs);
  const upAtMs = Math.max(0, ...outages.map(({ untilMs }) => untilMs));
  // A node that loses its memory again starts with a guard of its own, or without one.
  const votesFromMs = outages.findLast(({ memory }) => memory === "lost")?.votesFromMs ?? 0;
  const state = atMs < upAtMs ? "down" : atMs < votesFromMs ? "guarded" : "up";
  const counters = trace.resources.map((resource) => {
    return { resource, counter: index.counterAt(name, resource, atMs)?.counter ?? 0 };
  });
  return {
    name,
    state,
    backAtMs: { up: undefined, down: upAtMs, guarded: votesFromMs }[state],
    claims: now.claims
      .filter(({ node }) => node === name)
      .map((claim) => ({ ...factsOf(claim), ...leftAt(claim.expiries, atMs) })),
    counters: counters.filter(({ counter }) => counter > 0),
    ...clockAt(now, name),
  };
}

function factsOf({ resource, attempt, client, fence, mode }: ClaimTrace): Omit<ClaimMoment, keyof LeftMoment> {
  return { resource, attempt, client, fence, mode };
}

type LeftMoment = ReturnType<typeof leftAt>;

function clientAt(now: Now, name: string): ClientMoment {
  const { trace, index, atMs } = now;
  const isOwn = ({ client }: { readonly client: string }): boolean => client === name;
  const locks = now.leases.filter(isOwn).map((lease) => lockAt(now, lease));
  const waits = index.callsAt(atMs).filter(isOwn);
  const hasCrashed = trace.deaths.some((death) => isOwn(death) && death.atMs <= atMs);
  const pauses = index.pausesAt(atMs).filter(isOwn);
  return {
    name,
    state: hasCrashed ? "crashed" : locks.length > 0 ? "holding" : waits.length > 0 ? "waiting" : "idle",
    pausedUntilMs: hasCrashed || pauses.length === 0 ? undefined : Math.max(...pauses.map(({ untilMs }) => untilMs)),
    waitsFor: hasCrashed ? [] : [...new Set(waits.flatMap(({ resources }) => resources))],
    locks: hasCrashed ? [] : locks,
    unread: hasCrashed ? 0 : index.unreadAt(atMs).filter(({ to }) => to === name).length,
    ...clockAt(now, name),
  };
}

function lockAt({ trace, atMs, claims, leases }: Now, lease: LeaseTrace): LockMoment {
  const { attempt, resources, fence, mode, validity, epoch } = lease;
  const quorums = trace.quorums[epoch - 1] ?? [];
  const own = claims.filter((claim) => claim.attempt === attempt);
  const isOn = (node: string, resource: string): boolean =>
    own.some((claim) => claim.node === node && claim.resource === resource);
  const nodes = trace.nodes.filter((node) => resources.every((resource) => isOn(node, resource)));
  return {
    ...{ attempt, resources, fence, mode, nodes, ...leftAt(validity, atMs) },
    hasMajority: quorums.every((quorum) => quorum.nodes.filter((node) => nodes.includes(node)).length >= quorum.needed),
    rivals: trace.clients.filter((other) => leases.some((each) => each.client === other && conflict(each, lease))),
  };
}

function cutsAt({ index, atMs }: Now): Cut[] {
  const cuts = new Map<string, Cut>();
  for (const { clients, nodes, part } of index.partitionsAt(atMs)) {
    for (const [client, node] of clients.flatMap((each) => nodes.map((node) => [each, node] as const))) {
      const other = cuts.get(`${client} ${node}`)?.part ?? part;
      cuts.set(`${client} ${node}`, { client, node, part: other === part ? part : "both" });
    }
  }
  return [...cuts.values()];
}

const storageKinds: readonly StorageKind[] = ["checks nothing", "checks writes", "checks all", "is guarded"];

/** The access to the storages that arrived last, and the storages after it. */
interface Stored {
  readonly atMs: number;
  readonly storages: readonly StorageMoment[];
}

const storedIn = new WeakMap<Trace, readonly Stored[]>();

function storagesAt(trace: Trace, atMs: number): readonly StorageMoment[] {
  const known = storedIn.get(trace);
  const stored = known ?? storedOf(trace);
  if (known === undefined) storedIn.set(trace, stored);
  return lastAt(stored, atMs)?.storages ?? [];
}

/** Returns the storages at the start and after each access. */
function storedOf({ accesses, resources }: Trace): Stored[] {
  const values = resources.map((resource) => ({ resource, value: 0, writtenBy: undefined, highest: 0 }));
  let storages: readonly StorageMoment[] = storageKinds.map((kind) => {
    return { kind, values, updates: 0, lostUpdates: 0, refusals: 0 };
  });
  const stored: Stored[] = [{ atMs: -Infinity, storages }];
  const seen = new Map<string, number>();
  for (const access of accesses.toSorted((a, b) => a.arrivesAtMs - b.arrivesAtMs)) {
    storages = storages.map((storage) => storageAfter(storage, access, seen));
    stored.push({ atMs: access.arrivesAtMs, storages });
  }
  return stored;
}

/**
 * Returns a storage after an access.
 *
 * @param seen the counter that each attempt has read last
 */
function storageAfter(storage: StorageMoment, access: AccessTrace, seen: Map<string, number>): StorageMoment {
  const { kind, values } = storage;
  const { resource, attempt } = access;
  const result = access.results?.[kind];
  if (result === undefined || result.outcome === "skipped") return storage;
  if (result.outcome === "refused") return { ...storage, refusals: storage.refusals + 1 };
  const key = `${kind} ${attempt} ${resource}`;
  const before = values.find((each) => each.resource === resource)?.value ?? 0;
  if (access.kind !== "write") seen.set(key, before);
  const isWrite = access.kind === "write";
  const value = isWrite ? (seen.get(key) ?? 0) + 1 : before;
  const { highest, writtenBy } = result;
  const after = values.map((each) => (each.resource === resource ? { resource, value, writtenBy, highest } : each));
  const updates = storage.updates + (isWrite ? 1 : 0);
  const lostUpdates = updates - after.reduce((sum, each) => sum + each.value, 0);
  return { ...storage, values: after, updates, lostUpdates };
}

const stepsIn = new WeakMap<Trace, readonly number[]>();

/** Returns the moments at which something happens, sorted, from 0 to `trace.endedAtMs`, both included. */
export function steps(trace: Trace): readonly number[] {
  const known = stepsIn.get(trace);
  if (known !== undefined) return known;
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
  const sorted = [...new Set(moments.filter((atMs) => atMs >= 0 && atMs <= endedAtMs))].sort((a, b) => a - b);
  stepsIn.set(trace, sorted);
  return sorted;
}

/** Whether a client that believes to have a lock is wrong: too few nodes keep its claim, or another client has it, too. */
export function isWrong({ hasMajority, rivals }: LockMoment): boolean {
  return !hasMajority || rivals.length > 0;
}

/** Describes a moment in sentences, as for a screen reader. */
export function describeMoment({ atMs, clients, nodes, storages }: Moment): string {
  const ill = nodes.filter(({ state }) => state !== "up");
  const losing = storages.filter(({ lostUpdates }) => lostUpdates > 0);
  return [
    `At ${round(atMs)} milliseconds.`,
    ...clients.map(describeClient),
    ...ill.map(({ name, state }) => `Node ${name} ${state === "down" ? "is down" : "is up and does not vote yet"}.`),
    ...nodes
      .filter(({ clockAheadMs }) => Math.abs(clockAheadMs) >= 1)
      .map(({ name, clockAheadMs }) => describeClock(`node ${name}`, clockAheadMs)),
    ...losing.map(({ kind, lostUpdates }) => `The storage that ${kind} has lost ${counted(lostUpdates, "update")}.`),
  ].join(" ");
}

function describeClient(client: ClientMoment): string {
  const { name, pausedUntilMs, locks, clockAheadMs } = client;
  const subject = capitalized(name);
  const pause = pausedUntilMs === undefined ? "" : ` ${subject} is paused until ${round(pausedUntilMs)} milliseconds.`;
  const clock = Math.abs(clockAheadMs) < 1 ? "" : ` ${describeClock(name, clockAheadMs)}`;
  const held = locks.map((lock) => ` ${describeLock(lock, locks.length === 1 ? "" : ` with token ${lock.fence}`)}`);
  return `${stateOf(client, subject)}${held.join("")}${pause}${clock}`;
}

function stateOf({ state, waitsFor, locks }: ClientMoment, subject: string): string {
  if (state === "crashed") return `${subject} has crashed.`;
  if (state === "waiting") return `${subject} waits for ${listed(waitsFor)}.`;
  if (state === "idle") return `${subject} is idle.`;
  const held = locks.map(({ resources, fence }) => `${listed(resources)} with token ${fence}`);
  return `${subject} holds ${held.join(", and ")}.`;
}

/** @param which tells the lock from others of its client */
function describeLock({ remainingMs, nodes, hasMajority, rivals, mode }: LockMoment, which: string): string {
  const belief = remainingMs > 0 ? `valid for ${round(remainingMs)} milliseconds more` : "no longer valid";
  const truth = `${nodes.length === 0 ? "no node keeps" : `${counted(nodes.length, "node")} keep${nodes.length === 1 ? "s" : ""}`} its claim`;
  const lack = hasMajority || nodes.length === 0 ? "" : ", which is no quorum";
  const also =
    rivals.length === 0
      ? ""
      : ` ${capitalized(listed(rivals))} ${rivals.length === 1 ? "believes that it holds" : "believe that they hold"} it, too.`;
  return `By its clocks the ${mode === "shared" ? "shared lock" : "lock"}${which} is ${belief}; in truth ${truth}${lack}.${also}`;
}

function describeClock(whose: string, aheadMs: number): string {
  return `The clock of ${whose} is ${round(Math.abs(aheadMs))} milliseconds ${aheadMs < 0 ? "behind" : "ahead"}.`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function round(ms: number): number {
  return Math.round(ms);
}
