import type {
  AccessTrace,
  ClaimTrace,
  Expiry,
  LeaseTrace,
  MessageTrace,
  StorageKind,
  Trace,
} from "@holdfast/simulation";
import { conflict, isDuring } from "./truth.ts";
import { storagesToShow } from "./words.ts";

/** Everything that a picture of a run shows at one moment. Durations are in milliseconds. */
export interface Moment {
  /** The moment of true time. */
  readonly atMs: number;
  readonly nodes: readonly NodeMoment[];
  readonly clients: readonly ClientMoment[];
  /** The messages on their way. */
  readonly messages: readonly MessageMoment[];
  /** The storages to show. */
  readonly storages: readonly StorageMoment[];
  /** The links that lose messages. */
  readonly cuts: readonly Cut[];
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
  /** The claims in force. A node that is down keeps them unless it has lost its memory. */
  readonly claims: readonly ClaimMoment[];
  /** The fence counter of each resource that has one. */
  readonly counters: readonly { readonly resource: string; readonly counter: number }[];
}

/** A claim in force. */
export interface ClaimMoment extends Pick<ClaimTrace, "resource" | "attempt" | "client"> {
  /** How long until it expires. */
  readonly remainingMs: number;
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
    messages: trace.messages
      .filter(({ sentAtMs, arrivesAtMs }) => sentAtMs <= atMs && atMs < arrivesAtMs)
      .map(({ readAtMs, ...message }) => {
        const { sentAtMs, arrivesAtMs } = message;
        return { ...message, progress: (atMs - sentAtMs) / (arrivesAtMs - sentAtMs) };
      }),
    storages: storagesAt(trace, atMs),
    cuts: cutsAt(trace, atMs),
  };
}

/** The state of a run at a moment. */
interface Now {
  readonly trace: Trace;
  readonly atMs: number;
  readonly claims: readonly ClaimTrace[];
  readonly leases: readonly LeaseTrace[];
  /** The messages that clients have not read since their arrival. Those that crash during a pause never read them. */
  readonly unread: readonly MessageTrace[];
}

function nowIn(trace: Trace, atMs: number): Now {
  const claims = trace.claims.filter((claim) => isDuring(claim, atMs) && leftMs(claim.expiries, atMs) > 0);
  const unread = trace.messages.filter(
    ({ part, isLost, arrivesAtMs, readAtMs = Infinity }) =>
      arrivesAtMs <= atMs && atMs < readAtMs && part !== "request" && !isLost,
  );
  return { trace, atMs, claims, leases: trace.leases.filter((lease) => isDuring(lease, atMs)), unread };
}

/** Returns the last of the items, which are sorted by their moments, that is not after a moment. */
function lastAt<T extends { readonly atMs: number }>(items: readonly T[], atMs: number): T | undefined {
  return items.findLast((item) => item.atMs <= atMs);
}

/** Returns the time left until the expiry that is known at a moment. */
function leftMs(expiries: readonly Expiry[], atMs: number): number {
  return Math.max(0, (lastAt(expiries, atMs)?.untilMs ?? atMs) - atMs);
}

function clockAt({ trace, atMs }: Now, name: string): ClockMoment {
  const clock = trace.clocks.findLast((each) => each.of === name && each.atMs <= atMs);
  return { clockAheadMs: clock === undefined ? 0 : clock.offsetMs + (clock.rate - 1) * atMs };
}

function nodeAt(now: Now, name: string): NodeMoment {
  const { trace, atMs } = now;
  const outages = trace.outages.filter(({ node, fromMs }) => node === name && fromMs <= atMs);
  const upAtMs = Math.max(0, ...outages.map(({ untilMs }) => untilMs));
  // A node that loses its memory again starts with a guard of its own, or without one.
  const votesFromMs = outages.findLast(({ memory }) => memory === "lost")?.votesFromMs ?? 0;
  const changes = trace.counters.filter(({ node }) => node === name);
  const counters = trace.resources.map((resource) => {
    const ofResource = changes.filter((change) => change.resource === resource);
    return { resource, counter: lastAt(ofResource, atMs)?.counter ?? 0 };
  });
  return {
    name,
    state: atMs < upAtMs ? "down" : atMs < votesFromMs ? "guarded" : "up",
    claims: now.claims
      .filter(({ node }) => node === name)
      .map(({ resource, attempt, client, expiries }) => {
        return { resource, attempt, client, remainingMs: leftMs(expiries, atMs) };
      }),
    counters: counters.filter(({ counter }) => counter > 0),
    ...clockAt(now, name),
  };
}

function clientAt(now: Now, name: string): ClientMoment {
  const { trace, atMs } = now;
  const isOwn = ({ client }: { readonly client: string }): boolean => client === name;
  const clock = clockAt(now, name);
  if (trace.deaths.some((death) => isOwn(death) && death.atMs <= atMs)) {
    return { name, state: "crashed", pausedUntilMs: undefined, waitsFor: [], locks: [], unread: 0, ...clock };
  }
  const locks = now.leases.filter(isOwn).map((lease) => lockAt(now, lease));
  const waits = trace.calls.filter((call) => isOwn(call) && isDuring(call, atMs));
  const pauses = trace.pauses.filter((pause) => isOwn(pause) && isDuring(pause, atMs));
  return {
    name,
    state: locks.length > 0 ? "holding" : waits.length > 0 ? "waiting" : "idle",
    pausedUntilMs: pauses.length === 0 ? undefined : Math.max(...pauses.map(({ untilMs }) => untilMs)),
    waitsFor: [...new Set(waits.flatMap(({ resources }) => resources))],
    locks,
    unread: now.unread.filter(({ to }) => to === name).length,
    ...clock,
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
    ...{ attempt, resources, fence, mode, nodes, remainingMs: leftMs(validity, atMs) },
    hasMajority: quorums.every((quorum) => quorum.nodes.filter((node) => nodes.includes(node)).length >= quorum.needed),
    rivals: trace.clients.filter((other) => leases.some((each) => each.client === other && conflict(each, lease))),
  };
}

function cutsAt({ partitions }: Trace, atMs: number): Cut[] {
  const cuts = new Map<string, Cut>();
  for (const { clients, nodes, part } of partitions.filter((partition) => isDuring(partition, atMs))) {
    for (const [client, node] of clients.flatMap((each) => nodes.map((node) => [each, node] as const))) {
      const other = cuts.get(`${client} ${node}`)?.part ?? part;
      cuts.set(`${client} ${node}`, { client, node, part: other === part ? part : "both" });
    }
  }
  return [...cuts.values()];
}

function storagesAt(trace: Trace, atMs: number): StorageMoment[] {
  const arrived = trace.accesses.filter(({ arrivesAtMs }) => arrivesAtMs <= atMs);
  const sorted = arrived.sort((a, b) => a.arrivesAtMs - b.arrivesAtMs);
  return storagesToShow(trace).map((kind) => storageAfter(kind, sorted, trace.resources));
}

/** Returns a storage after these accesses. */
function storageAfter(
  kind: StorageKind,
  accesses: readonly AccessTrace[],
  resources: readonly string[],
): StorageMoment {
  const values = new Map<string, StoredValue>();
  for (const resource of resources) values.set(resource, { resource, value: 0, writtenBy: undefined, highest: 0 });
  /** The counter that each attempt has read last. */
  const read = new Map<string, number>();
  let [updates, refusals] = [0, 0];
  for (const { resource, attempt, kind: action, results } of accesses) {
    const { outcome = "skipped", highest = 0, writtenBy } = results?.[kind] ?? {};
    if (outcome === "refused") refusals += 1;
    if (outcome !== "accepted") continue;
    let value = values.get(resource)?.value ?? 0;
    if (action === "write") {
      updates += 1;
      value = (read.get(`${attempt} ${resource}`) ?? 0) + 1;
    } else read.set(`${attempt} ${resource}`, value);
    values.set(resource, { resource, value, writtenBy, highest });
  }
  const kept = [...values.values()].reduce((sum, { value }) => sum + value, 0);
  return { kind, values: [...values.values()], updates, lostUpdates: updates - kept, refusals };
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
