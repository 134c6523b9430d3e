import type { TimelineEvent } from "../report/timeline.ts";
import type { LockMode, StorageKind } from "./history.ts";

/**
 * Everything that a picture of a run needs, as plain data that can be cloned and sent to another thread. All moments are
 * true time in milliseconds. A span that never ends has `untilMs: Infinity`. Each list is in the order of its moments.
 */
export interface Trace {
  /** The names of the nodes. */
  readonly nodes: readonly string[];
  /** The names of the clients, without the operator. */
  readonly clients: readonly string[];
  /** For each epoch of the set of nodes, from 1: the sets of which a lock needs a quorum each, one or the old and the new. */
  readonly quorums: readonly (readonly QuorumTrace[])[];
  /** The names of all resources that clients lock. */
  readonly resources: readonly string[];
  /**
   * When all clients and the operator had ended their work. The simulation's own tests of recovery and of leaks follow,
   * so a picture ends here.
   */
  readonly endedAtMs: number;
  /** All messages. */
  readonly messages: readonly MessageTrace[];
  /** All claims on the nodes. */
  readonly claims: readonly ClaimTrace[];
  /** The changes of the fence counters of the nodes. A counter is 0 before its first change. */
  readonly counters: readonly CounterTrace[];
  /** All locks that clients were given, as the clients see them. */
  readonly leases: readonly LeaseTrace[];
  /** All calls for a lock. */
  readonly calls: readonly CallTrace[];
  /** All accesses to the storages. */
  readonly accesses: readonly AccessTrace[];
  /** The changes of the clocks of clients and nodes. A clock shows true time before its first change. */
  readonly clocks: readonly ClockTrace[];
  /** The times during which nodes were down. */
  readonly outages: readonly OutageTrace[];
  /** The times during which clients ran no code. */
  readonly pauses: readonly PauseTrace[];
  /** The times during which messages between clients and nodes were lost. */
  readonly partitions: readonly PartitionTrace[];
  /** The crashes of clients. */
  readonly deaths: readonly DeathTrace[];
  /** All events in words, faults included: the timeline of the run. */
  readonly events: readonly TimelineEvent[];
}

/** A set of nodes, and how many of them a lock needs. */
export interface QuorumTrace {
  /** The names of the nodes. */
  readonly nodes: readonly string[];
  /** How many of them must keep the claim: a majority, unless the scenario says otherwise. */
  readonly needed: number;
}

/** The kind of exchange that a message is part of. */
export type ExchangeKind =
  | "acquire"
  | "extend"
  | "release"
  | "undo"
  | "watch"
  | "stop watching"
  | "notification"
  | "raise floor"
  | "scan";

/** What a node replied. `failed` is an error, and `refused` means that the machine was up and the node was not. */
export type ReplyOutcome =
  | "granted"
  | "denied"
  | "held"
  | "rejoined"
  | "not held"
  | "released"
  | "no claim"
  | "done"
  | "failed"
  | "refused";

/** A message in one direction: a request, a reply, or a notification. */
export interface MessageTrace {
  /** The position in `messages`. */
  readonly id: number;
  /** The sender: a client, a node, or `operator`. */
  readonly from: string;
  /** The receiver. */
  readonly to: string;
  /** Whether it is a client's request, a node's reply, or a notification, which nobody requested. */
  readonly part: "request" | "reply" | "notification";
  /** What it is about. */
  readonly exchange: ExchangeKind;
  /** The attempt that it belongs to, if any. */
  readonly attempt: string | undefined;
  /** If it is a reply: what the node replied. */
  readonly outcome: ReplyOutcome | undefined;
  /** Whether it is a second copy that a fault sent. */
  readonly isRepeated: boolean;
  /** When it was sent. */
  readonly sentAtMs: number;
  /** When it arrived at the receiver's machine. If it was lost on its way: when it would have arrived at the earliest. */
  readonly arrivesAtMs: number;
  /** Whether it was lost on its way. */
  readonly isLost: boolean;
  /**
   * When the receiver read it: later than it arrived if the client was paused. Undefined if it never did: it was lost, or
   * arrived at a node that was down or had crashed meanwhile, or at a client that had crashed.
   */
  readAtMs: number | undefined;
}

/** A claim on one resource on one node: the truth, whatever clients believe. */
export interface ClaimTrace {
  /** The node. */
  readonly node: string;
  /** The resource. */
  readonly resource: string;
  /** The attempt that signed it. */
  readonly attempt: string;
  /** The client that made the attempt. */
  readonly client: string;
  /** The epoch in which the client made it: its place in `quorums`, from 1. */
  readonly epoch: number;
  /** Whether it excludes all other claims, or only exclusive ones. */
  readonly mode: LockMode;
  /** The fence counter of the resource when the claim was made. */
  readonly fence: number;
  /** When the node granted it. */
  readonly fromMs: number;
  /** When it ended; `Infinity` if it had not ended when the simulation did. */
  untilMs: number;
  /** How it ended. `forgotten` means that the node lost its memory. Undefined if it had not ended. */
  end: "released" | "expired" | "taken over" | "forgotten" | undefined;
  /** When it was going to expire: each entry holds until the next one. Extensions and clock jumps change it. */
  readonly expiries: readonly Expiry[];
}

/** From a moment on, the moment at which something was going to end. */
export interface Expiry {
  /** From when this holds. */
  readonly atMs: number;
  /** When it was going to end. */
  readonly untilMs: number;
}

/** The fence counter of a resource on a node, from a moment on. */
export interface CounterTrace {
  /** The node. */
  readonly node: string;
  /** The resource. */
  readonly resource: string;
  /** From when it has this value. */
  readonly atMs: number;
  /** The counter; 0 if the node has forgotten it. */
  readonly counter: number;
}

/** A lock as its client sees it. */
export interface LeaseTrace {
  /** The attempt that won it. */
  readonly attempt: string;
  /** The client. */
  readonly client: string;
  /** The epoch in which the client won it: its place in `quorums`, from 1. */
  readonly epoch: number;
  /** The locked resources. */
  readonly resources: readonly string[];
  /** Whether it is exclusive or shared. */
  readonly mode: LockMode;
  /** Its fencing token. */
  readonly fence: number;
  /** When the client was given it. */
  readonly fromMs: number;
  /** When the client stopped to rely on it; `Infinity` if it had not when the simulation ended. */
  untilMs: number;
  /**
   * Why it stopped. `released`: it began to release it. `lost`: it learned that the lock was lost. `left to expire`: it had
   * done its work, and did not release. `crashed`: the client crashed. Undefined if it never did.
   */
  end: "released" | "lost" | "left to expire" | "crashed" | undefined;
  /** When the validity ends by the client's clocks: each entry holds until the next one. */
  readonly validity: readonly Expiry[];
  /** The moments at which the client looked at its lock, and the remaining validity that it saw, if it asked for it. */
  readonly looks: readonly LookTrace[];
}

/** A look of a client at its lock. */
export interface LookTrace {
  /** When. */
  readonly atMs: number;
  /** The remaining validity that it saw, in milliseconds of its own clock. */
  readonly remainingMs: number;
}

/** A call for a lock. */
export interface CallTrace {
  /** The client. */
  readonly client: string;
  /** The resources to lock. */
  readonly resources: readonly string[];
  /** When the call was made. */
  readonly fromMs: number;
  /** When it stopped to wait: it got its lock, or ended without one. `Infinity` if it never did. */
  readonly untilMs: number;
}

/** One access to the storages. All of them receive it at the same moment. */
export interface AccessTrace {
  /** The client. */
  readonly client: string;
  /** The attempt that won its lock. */
  readonly attempt: string;
  /** The fencing token that it shows; undefined if the client forgets it. */
  readonly fence: number | undefined;
  /** The resource. */
  readonly resource: string;
  /** The kind of access. */
  readonly kind: "read" | "write" | "read again";
  /** When it was sent. */
  readonly sentAtMs: number;
  /** When it arrives. */
  readonly arrivesAtMs: number;
  /** What each kind of storage did with it. Undefined if it had not arrived when the simulation ended. */
  results: Readonly<Record<StorageKind, AccessResult>> | undefined;
}

/** What one storage did with an access. */
export interface AccessResult {
  /** `skipped`: a client does not send a write to a storage that refused the read before it. */
  readonly outcome: "accepted" | "refused" | "skipped";
  /** The highest token that the storage has accepted, this one included; 0 if it does not check tokens. */
  readonly highest: number;
  /** The value afterwards: the number of the write that made it, counted over all resources from 1; 0 at the start. */
  readonly value: number;
  /** The attempt whose write made the value afterwards; undefined at the start. */
  readonly writtenBy: string | undefined;
  /** If it is a write that replaced an update that the writer had not read: the attempt that made this update. */
  readonly lost: string | undefined;
}

/** The clock of a client or a node, from a moment on. It shows `rate` times the true time, plus `offsetMs`. */
export interface ClockTrace {
  /** The name of the client or node. */
  readonly of: string;
  /** From when. */
  readonly atMs: number;
  /** How far its wall clock was set, in all, in milliseconds. */
  readonly offsetMs: number;
  /** How many milliseconds it advances in one millisecond of true time. */
  readonly rate: number;
}

/** A time during which a node did not vote. */
export interface OutageTrace {
  /** The node. */
  readonly node: string;
  /** When it went down. */
  readonly fromMs: number;
  /** When it was up again. */
  readonly untilMs: number;
  /** When it voted again: after `untilMs` if a restart guard, or the operator, kept it from voting. */
  votesFromMs: number;
  /** Whether it lost its claims and counters. */
  readonly memory: "kept" | "lost";
}

/** A time during which a client ran no code. */
export interface PauseTrace {
  /** The client. */
  readonly client: string;
  /** When its code stopped. */
  readonly fromMs: number;
  /** When it went on. */
  readonly untilMs: number;
  /** Whether its monotonic clock stood still, too, as while a machine sleeps. */
  readonly isSuspension: boolean;
}

/** A time during which messages were lost. */
export interface PartitionTrace {
  /** The names of the clients. */
  readonly clients: readonly string[];
  /** The names of the nodes. */
  readonly nodes: readonly string[];
  /** The direction in which messages were lost. */
  readonly part: "requests" | "replies" | "both";
  /** When it began. */
  readonly fromMs: number;
  /** When it ended. */
  readonly untilMs: number;
}

/** The crash of a client. */
export interface DeathTrace {
  /** The client, or `operator`. */
  readonly client: string;
  /** When it crashed. */
  readonly atMs: number;
}
