import type { NodeView } from "@holdfast/core/node";
import type { TimelineEvent } from "../report/timeline.ts";
import type { Fault, NodeCrash, Partition, Pause, PauseBeforeActing, Suspension } from "../scenario/fault.ts";
import { operatorName } from "../scenario/scenario.ts";
import type { ClientProcess } from "../world/client-process.ts";
import type { NodeHost } from "../world/node-host.ts";
import type { CounterLoss, WaiterRecord } from "./history.ts";
import type {
  AccessTrace,
  ClaimTrace,
  ClockTrace,
  CounterTrace,
  Expiry,
  LeaseTrace,
  LookTrace,
  MessageTrace,
  OutageTrace,
  ReplyOutcome,
  Trace,
} from "./trace.ts";

/** A message as it is sent. */
export interface SentMessage
  extends Pick<MessageTrace, "from" | "to" | "part" | "exchange" | "sentAtMs">,
    Partial<Pick<MessageTrace, "attempt" | "outcome" | "isRepeated">> {
  /** When it arrives; undefined if it is lost on its way. */
  readonly arrivesAtMs: number | undefined;
}

/** What a tracer knows of the world that it records. */
export interface TracedWorld {
  readonly hosts: ReadonlyMap<string, NodeHost>;
  /** Returns a process by its name. That of the operator is replaced when it crashes. */
  processOf(name: string): ClientProcess | undefined;
  /** The names of the clients, without the operator. */
  readonly clients: readonly string[];
  readonly resources: readonly string[];
  /** The shortest time that a message takes, in milliseconds. */
  readonly leastLatencyMs: number;
  /** The names of the attempts by their owners. */
  attemptOf(owner: string): string | undefined;
  readonly quorums: Trace["quorums"];
  /** The epoch in which an owner signs claims. */
  epochOf(owner: string): number;
}

/** Why claims that have not expired are gone. */
type Cause = Exclude<ClaimTrace["end"], undefined>;

/** A claim whose trace is still written. */
type OpenClaim = ClaimTrace & { readonly expiries: Expiry[] };

/** A lease whose trace is still written. */
type OpenLease = LeaseTrace & { readonly validity: Expiry[]; readonly looks: LookTrace[] };

/** Two readings of the clocks of a process. */
interface Readings {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** The ttl of a claim, and its start by the clocks of the client. */
interface Term {
  readonly ttlMs: number;
  readonly startedAt: Readings;
}

/** A lock that a client relies on. */
interface Reliance {
  readonly lease: OpenLease;
  readonly process: ClientProcess;
  /** The start of its term. */
  since: Readings;
  /** How long it may be relied on from then, in milliseconds. */
  validMs: number;
}

/** What a lock is. */
export type LockFacts = Pick<LeaseTrace, "attempt" | "fence" | "mode" | "resources">;

/** Records what a client does with its lock. */
export interface TracedLease {
  /** The client looks at its lock, and sees it valid for so long, in milliseconds. */
  looks(remainingMs: number): void;
  /** The client has done its work under the lock. */
  ends(): void;
  /** The client will not release it. */
  leavesToExpire(): void;
}

/** Two moments that differ by less are the same: they are results of floating point arithmetic. */
const roundingMs = 1e-6;

/**
 * Records the trace of a run. It only reads: a run with a tracer has the same history as a run without. It looks at a node
 * after each event that can change its claims, and computes when they expire. It computes how long a client considers
 * its lock valid from the client's clocks, as the client does: to ask the lock would make it notice that it has expired.
 */
export class Tracer {
  readonly #world: TracedWorld;
  readonly #messages: MessageTrace[] = [];
  readonly #claims: ClaimTrace[] = [];
  readonly #counters: CounterTrace[] = [];
  readonly #leases: LeaseTrace[] = [];
  readonly #calls: { readonly client: string; readonly waiter: WaiterRecord }[] = [];
  readonly #accesses: AccessTrace[] = [];
  readonly #clocks: ClockTrace[] = [];
  readonly #outages: OutageTrace[] = [];
  readonly #pauses: Trace["pauses"][number][] = [];
  readonly #partitions: Trace["partitions"][number][] = [];
  readonly #deaths: Trace["deaths"][number][] = [];
  /** The claims in force on each resource of each node, by attempt. */
  readonly #inForce = new Map<string, Map<string, OpenClaim>>();
  readonly #counterOf = new Map<string, number>();
  readonly #clockOf = new Map<string, ClockTrace>();
  readonly #processOf = new Map<string, string>();
  /** The term that each attempt began, by its owner. */
  readonly #terms = new Map<string, Term>();
  readonly #relied = new Map<string, Reliance>();
  readonly #memories = new Map<NodeHost, unknown>();
  #endedAtMs: number | undefined;

  /** @param world what it records */
  constructor(world: TracedWorld) {
    this.#world = world;
    for (const host of world.hosts.values()) this.#memories.set(host, host.node);
  }

  /** Whether the run has ended: what follows is not recorded. */
  get isOver(): boolean {
    return this.#endedAtMs !== undefined;
  }

  /** Records a message that is sent. */
  sends({ arrivesAtMs, attempt, outcome, isRepeated = false, ...sent }: SentMessage): MessageTrace {
    const message: MessageTrace = {
      ...{ id: this.#messages.length, ...sent, attempt, outcome, isRepeated },
      arrivesAtMs: arrivesAtMs ?? sent.sentAtMs + this.#world.leastLatencyMs,
      isLost: arrivesAtMs === undefined,
      readAtMs: undefined,
    };
    if (!this.isOver) this.#messages.push(message);
    return message;
  }

  /** Records the answer to a message, on its way back. */
  answers(
    { from: to, to: from, exchange, attempt }: MessageTrace,
    outcome: ReplyOutcome,
    sentAtMs: number,
    arrivesAtMs: number | undefined,
  ): MessageTrace {
    return this.sends({ from, to, part: "reply", exchange, attempt, outcome, sentAtMs, arrivesAtMs });
  }

  /** Records that an attempt asks for a claim: its term begins with the first request. */
  asks(owner: string, attempt: string, ttlMs: number, process: ClientProcess): void {
    this.#processOf.set(attempt, process.name);
    if (!this.#terms.has(owner)) this.#terms.set(owner, { ttlMs, startedAt: process.readings });
  }

  /** Looks at the claims and counters of a node, which an event may have changed. `cause` ends the claims that are gone. */
  look(host: NodeHost, atMs: number, cause: Cause, resources: readonly string[] = this.#world.resources): void {
    if (this.isOver) return;
    for (const resource of resources) {
      host.node.inspect?.(resource).then(
        (view) => this.#see(host.name, resource, view, atMs, cause),
        () => {},
      );
    }
  }

  #see(node: string, resource: string, view: NodeView, atMs: number, cause: Cause): void {
    const key = `${node} ${resource}`;
    const inForce = this.#inForce.get(key) ?? new Map<string, OpenClaim>();
    this.#inForce.set(key, inForce);
    if (view.fence !== (this.#counterOf.get(key) ?? 0)) {
      this.#counterOf.set(key, view.fence);
      this.#counters.push({ node, resource, atMs, counter: view.fence });
    }
    const found = new Map<string, { readonly owner: string; readonly untilMs: number }>();
    const { owner, remainingMs, sharers } = view;
    for (const each of sharers ?? (owner === null ? [] : [{ owner, remainingMs: remainingMs ?? 0 }])) {
      const attempt = this.#world.attemptOf(each.owner);
      const untilMs = atMs + each.remainingMs / this.#rateOf(node);
      if (attempt !== undefined) found.set(attempt, { owner: each.owner, untilMs });
    }
    for (const [attempt, claim] of inForce) {
      const expiresAtMs = claim.expiries.at(-1)?.untilMs ?? Infinity;
      if (found.has(attempt) && expiresAtMs > atMs) continue;
      endClaim(claim, atMs, cause);
      inForce.delete(attempt);
    }
    for (const [attempt, { owner: signer, untilMs }] of found) {
      const known = inForce.get(attempt);
      if (known !== undefined) note(known.expiries, { atMs, untilMs });
      else {
        const of = { node, resource, attempt, epoch: this.#world.epochOf(signer) };
        inForce.set(attempt, this.#claim(of, view, { atMs, untilMs }));
      }
    }
  }

  #claim(of: Pick<ClaimTrace, "node" | "resource" | "attempt" | "epoch">, view: NodeView, expiry: Expiry): OpenClaim {
    const claim = {
      ...of,
      client: this.#processOf.get(of.attempt) ?? "",
      mode: view.sharers === undefined ? ("exclusive" as const) : ("shared" as const),
      ...{ fence: view.fence, fromMs: expiry.atMs, untilMs: Infinity, end: undefined, expiries: [expiry] },
    };
    this.#claims.push(claim);
    return claim;
  }

  #rateOf(name: string): number {
    return this.#clockOf.get(name)?.rate ?? 1;
  }

  /** Records a lock that a client was given. The result records what the client does with it. */
  granted(owner: string, process: ClientProcess, facts: LockFacts): TracedLease {
    const { attempt, resources, mode, fence } = facts;
    const lease: OpenLease = {
      ...{ attempt, client: process.name, epoch: this.#world.epochOf(owner), resources, mode, fence },
      ...{ fromMs: process.nowMs, untilMs: Infinity },
      ...{ end: undefined, validity: [], looks: [] },
    };
    const { ttlMs, startedAt: since } = this.#terms.get(owner) ?? { ttlMs: 0, startedAt: process.readings };
    const reliance = { lease, process, since, validMs: validityMs(ttlMs) };
    if (!this.isOver) this.#leases.push(lease);
    this.#relied.set(owner, reliance);
    predict(reliance, process.nowMs, this.#rateOf(process.name));
    return {
      looks: (remainingMs) => {
        if (!Number.isFinite(remainingMs)) return;
        lease.looks.push({ atMs: process.nowMs, remainingMs });
        if (remainingMs > 0) this.#anchor(reliance, remainingMs);
      },
      ends: () => endLease(lease, process.nowMs, "released"),
      leavesToExpire: () => {
        if (lease.end === "released") lease.end = "left to expire";
      },
    };
  }

  /** Corrects how long the client considers its lock valid. */
  #anchor(reliance: Reliance, remainingMs: number): void {
    const { process, since } = reliance;
    reliance.validMs = remainingMs + elapsedMs(since, process.readings);
    predict(reliance, process.nowMs, this.#rateOf(process.name));
  }

  /** Records that a client has extended its lock, which is now valid for `remainingMs`. */
  extended(owner: string, remainingMs: number): void {
    const reliance = this.#relied.get(owner);
    if (reliance === undefined) return;
    reliance.since = reliance.process.readings;
    this.#anchor(reliance, remainingMs);
  }

  /** Records that a client learned that it has lost its lock. */
  lost(owner: string, atMs: number): void {
    const lease = this.#relied.get(owner)?.lease;
    if (lease !== undefined && lease.untilMs >= atMs) Object.assign(lease, { untilMs: atMs, end: "lost" });
  }

  /** Records a call of a client for a lock, and how it waits. */
  calls(client: string, waiter: WaiterRecord): void {
    if (!this.isOver) this.#calls.push({ client, waiter });
  }

  /** Records an access to the storages. Its results follow when it arrives. */
  accesses(access: Omit<AccessTrace, "results">): AccessTrace {
    const record = { ...access, results: undefined };
    if (!this.isOver) this.#accesses.push(record);
    return record;
  }

  /** Records a fault that has just struck, and what it changes. */
  struck(atMs: number, fault: Fault): void {
    if (this.isOver) return;
    switch (fault.kind) {
      case "partition":
        this.#parted(atMs, fault);
        break;
      case "node crash":
        this.#crashed(atMs, fault);
        break;
      case "client crash":
        this.#died(atMs, fault.client);
        break;
      case "clock jump":
        this.#setClock(fault.of, atMs, { byMs: fault.byMs });
        break;
      case "clock drift":
        this.#setClock(fault.of, atMs, { rate: fault.rate });
        break;
      case "pause":
      case "pause before acting":
      case "suspension":
        this.#paused(atMs, fault);
        break;
    }
  }

  #parted(atMs: number, { clients, nodes, part, forMs }: Partition): void {
    this.#partitions.push({ clients, nodes, part, fromMs: atMs, untilMs: atMs + forMs });
  }

  #crashed(atMs: number, { node, guardMs = 0, healed }: NodeCrash): void {
    const host = this.#world.hosts.get(node);
    if (host === undefined) return;
    const memory = this.#memories.get(host) === host.node ? "kept" : "lost";
    this.#memories.set(host, host.node);
    const { upAtMs: untilMs } = host;
    const waits = memory === "lost" && healed === "before it votes";
    const votesFromMs = memory === "kept" ? untilMs : waits ? Infinity : untilMs + guardMs;
    this.#outages.push({ node, fromMs: atMs, untilMs, votesFromMs, memory });
    this.look(host, atMs, "forgotten");
  }

  #died(atMs: number, client: string): void {
    this.#deaths.push({ client, atMs });
    for (const { process, lease } of this.#relied.values()) {
      if (process.name === client && lease.untilMs > atMs) Object.assign(lease, { untilMs: atMs, end: "crashed" });
    }
  }

  #setClock(name: string, atMs: number, { byMs = 0, rate }: { byMs?: number; rate?: number }): void {
    const before = this.#clockOf.get(name) ?? { offsetMs: 0, rate: 1 };
    const clock = { of: name, atMs, offsetMs: before.offsetMs + byMs, rate: rate ?? before.rate };
    this.#clockOf.set(name, clock);
    this.#clocks.push(clock);
    const host = this.#world.hosts.get(name);
    if (host !== undefined) this.look(host, atMs, "expired");
    this.#predictAgain(name, atMs);
  }

  #paused(atMs: number, { kind, client, forMs }: Pause | PauseBeforeActing | Suspension): void {
    const untilMs = this.#world.processOf(client)?.heldUntilMs ?? 0;
    // A difference of two sums may be a little less than the moment itself.
    const isSuspension = kind === "suspension";
    this.#pauses.push({ client, fromMs: Math.max(atMs, untilMs - forMs), untilMs, isSuspension });
    if (isSuspension) this.#predictAgain(client, untilMs);
  }

  #predictAgain(client: string, atMs: number): void {
    for (const reliance of this.#relied.values()) {
      if (reliance.process.name === client && reliance.lease.end === undefined) {
        predict(reliance, atMs, this.#rateOf(client));
      }
    }
  }

  /** Ends the recording: all clients have ended their work. */
  end(atMs: number): void {
    this.#endedAtMs = atMs;
    for (const inForce of this.#inForce.values()) {
      for (const claim of inForce.values()) {
        if ((claim.expiries.at(-1)?.untilMs ?? Infinity) <= atMs) endClaim(claim, atMs, "expired");
      }
    }
  }

  /**
   * Returns the trace of the run.
   *
   * @param events all events in words
   * @param losses the losses of counters, which operators heal
   */
  trace(events: readonly TimelineEvent[], losses: readonly CounterLoss[]): Trace {
    const { hosts, clients, quorums, resources } = this.#world;
    const endedAtMs = this.#endedAtMs ?? 0;
    // The code of a client that is paused within a turn runs ahead. What it does then is void if the client crashes.
    const diedAtMs = new Map(this.#deaths.map(({ client, atMs }) => [client, atMs]));
    const hasLived = (name: string, atMs: number): boolean =>
      name === operatorName || atMs <= (diedAtMs.get(name) ?? Infinity);
    for (const outage of this.#outages) {
      const loss = losses.find(({ node, lostAtMs }) => node === outage.node && lostAtMs === outage.fromMs);
      if (outage.votesFromMs === Infinity) outage.votesFromMs = loss?.healedAtMs ?? Infinity;
    }
    return {
      nodes: [...hosts.keys()],
      clients,
      quorums,
      resources,
      endedAtMs,
      messages: inOrder(
        this.#messages.filter(({ from, sentAtMs, isRepeated }) => isRepeated || hasLived(from, sentAtMs)),
      ),
      claims: this.#claims,
      counters: this.#counters,
      leases: this.#leases
        .filter(({ client, fromMs }) => hasLived(client, fromMs))
        .toSorted((a, b) => a.fromMs - b.fromMs),
      calls: this.#calls
        .map(({ client, waiter: { resources, calledAtMs: fromMs, endedAtMs: untilMs = Infinity } }) => {
          return { client, resources, fromMs, untilMs };
        })
        .filter(({ client, fromMs }) => hasLived(client, fromMs))
        .toSorted((a, b) => a.fromMs - b.fromMs),
      accesses: this.#accesses
        .filter(({ client, sentAtMs }) => hasLived(client, sentAtMs))
        .toSorted((a, b) => a.sentAtMs - b.sentAtMs),
      clocks: this.#clocks,
      outages: this.#outages,
      pauses: this.#pauses.toSorted((a, b) => a.fromMs - b.fromMs),
      partitions: this.#partitions,
      deaths: this.#deaths,
      events: events
        .filter(({ who, atMs }) => atMs <= endedAtMs && hasLived(who, atMs))
        .toSorted((a, b) => a.atMs - b.atMs),
    };
  }
}

/** Ends a claim that is gone: when it expired, or now if it had not. */
function endClaim(claim: OpenClaim, atMs: number, cause: Cause): void {
  const expiresAtMs = claim.expiries.at(-1)?.untilMs ?? Infinity;
  const hasExpired = expiresAtMs <= atMs + roundingMs;
  claim.untilMs = hasExpired ? Math.max(claim.fromMs, Math.min(expiresAtMs, atMs)) : atMs;
  claim.end = hasExpired ? "expired" : cause;
}

function endLease(lease: OpenLease, atMs: number, end: LeaseTrace["end"]): void {
  if (lease.end !== undefined) return;
  lease.untilMs = atMs;
  lease.end = end;
}

/** Adds the moment at which something is going to end, if it has changed. */
function note(expiries: Expiry[], { atMs, untilMs }: Expiry): void {
  const last = expiries.at(-1);
  if (last !== undefined && Math.abs(last.untilMs - untilMs) < roundingMs) return;
  expiries.push({ atMs: Math.max(atMs, last?.atMs ?? 0), untilMs });
}

/** Notes when a lock will no longer be valid if the client's clocks go on as they are. */
function predict({ lease, process, since, validMs }: Reliance, atMs: number, rate: number): void {
  const leftMs = validMs - elapsedMs(since, process.readings);
  note(lease.validity, { atMs, untilMs: process.nowMs + leftMs / rate });
}

/** The time between two readings, as core measures it: the larger of the differences on the two clocks. */
function elapsedMs(since: Readings, until: Readings): number {
  return Math.max(until.monotonicMs - since.monotonicMs, until.wallMs - since.wallMs);
}

/** How long a lock with this ttl is valid from the start of its term, with core's default allowance for drift. */
function validityMs(ttlMs: number): number {
  return ttlMs - ttlMs * 0.01 - 2;
}

/** Sorts messages by the moment at which they were sent, and numbers them again. */
function inOrder(messages: readonly MessageTrace[]): MessageTrace[] {
  return messages.toSorted((a, b) => a.sentAtMs - b.sentAtMs).map((message, id) => ({ ...message, id }));
}
