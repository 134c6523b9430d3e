import type { JointSet } from "@holdfast/core";
import { checkInteger, clientsOf, epochOf, type Floor, type LockNode, servedBy } from "@holdfast/core/node";
import {
  assertNotLater,
  type EarlierClaim,
  MembershipError,
  type MembershipOptions,
  type NodeContent,
  type NodeFloor,
  Operation,
  type Quorum,
  quorumsOf,
  signerOf,
} from "./operation.ts";

/** The options of {@link migration}. */
export interface MigrationOptions extends MembershipOptions {
  /** The `generation` of the clients before the change. Default 0. */
  readonly generation?: number | undefined;
  /**
   * For how long no client of an earlier stage may hold a lock before a step refuses such clients, in milliseconds. Longer
   * than the longest pause between two locks of a client that was forgotten. Default 10 000.
   */
  readonly watchMs?: number | undefined;
  /**
   * How long `join` and `end` wait until clients of earlier stages have no locks left, in milliseconds, before they reject.
   * Default 60 000.
   */
  readonly settleMs?: number | undefined;
}

/** How far a change of servers is. */
export interface MigrationStatus {
  /**
   * `none`: the change has not begun. `begun`: clients may become joint. `joined`: all clients are joint, and may leave the
   * old set. `ended`: the old set is not needed any more. `forgotten`: most of the new nodes do not know about the change,
   * though another node refuses the clients before it; they have lost their data.
   */
  readonly stage: "none" | "begun" | "joined" | "ended" | "forgotten";
  /** The floor and the epoch of each node, or its error. */
  readonly nodes: readonly NodeFloor[];
}

/**
 * A change from one set of nodes to another while clients go on locking. Clients go through three stages: `new
 * Redlock(old, { generation })`, `new Redlock({ old, new }, { generation })` and `new Redlock(new, { generation:
 * generation + 1 })`. Clients of neighbouring stages exclude each other. The three steps separate the stages: call each
 * when all clients are in the stage that it names. They can be repeated, also after a failure.
 */
export interface Migration {
  /**
   * Reads how far the change is. Changes nothing, and does not reject because a node fails.
   *
   * @throws {MembershipError} if the nodes are at another generation
   */
  status(): Promise<MigrationStatus>;

  /**
   * The first step, while all clients use the old set: from then on, nodes refuse clients that skip the joint stage.
   * Afterwards, make the clients joint, one after the other.
   *
   * @throws {MembershipError} when too few nodes reply, an earlier change of the old set has not ended, or this one has
   */
  begin(): Promise<MigrationStatus>;

  /**
   * The second step, when all clients are joint. Waits until no client of an earlier stage has held a lock for `watchMs`,
   * and then refuses such clients, so that every later lock has a quorum of the new set. Writes a floor to the new
   * set, above all tokens that were granted before. Afterwards, let the clients leave the old set, one after the other.
   *
   * @throws {MembershipError} when too few nodes reply, or clients of an earlier stage lock for longer than `settleMs`;
   *   its `claims` tell which
   */
  join(): Promise<MigrationStatus>;

  /**
   * The last step, when no client uses the old set any more. Waits until no joint client has held a lock for `watchMs`, and
   * then refuses joint clients. Afterwards, stop the old servers, and begin another change whenever you want.
   *
   * @throws {MembershipError} when too few nodes reply, or joint clients lock for longer than `settleMs`; its `claims` tell
   *   which
   */
  end(): Promise<MigrationStatus>;
}

/** How long to wait between two readings of claims, in milliseconds. */
const pollMs = 500;

/**
 * Plans a change of servers. Sends nothing until one of its steps is called. Any process may call them, but only one at a
 * time should, and none while a node is being healed.
 *
 * The steps rest on two assumptions that no node can check: each client has the generation of the nodes that it uses, and
 * nobody locks without one, such as clients of other Redlock libraries, which the nodes cannot tell to stop.
 *
 * @param set the nodes before and after the change
 * @param options the generation of the clients before the change, and how long to wait
 * @throws {TypeError | RangeError} for bad nodes or options
 *
 * @example
 * ```ts
 * import { migration } from "@holdfast/membership";
 *
 * const old = ["a", "b", "c"].map((name) => memoryNode({ name }));
 * const next = ["d", "e", "f"].map((name) => memoryNode({ name }));
 * const change = migration({ old, new: next }, { watchMs: 1_000 });
 * await change.begin(); // then: new Redlock({ old, new: next }) in all clients
 * await change.join(); // then: new Redlock(next, { generation: 1 }) in all clients
 * await change.end(); // then stop a, b and c
 * ```
 */
export function migration(set: JointSet, options: MigrationOptions = {}): Migration {
  const { generation = 0, watchMs = 10_000, ...rest } = options;
  const operation = new Operation(rest, ["generation", "watchMs"], "migration");
  const epoch = epochOf(generation, false);
  checkInteger("watchMs", watchMs);
  return new Change(operation, set, epoch, watchMs);
}

class Change implements Migration {
  readonly #operation: Operation;
  /** The epoch of the clients before the change. */
  readonly #epoch: number;
  readonly #watchMs: number;
  readonly #old: Quorum;
  readonly #new: Quorum;
  readonly #nodes: readonly LockNode[];

  constructor(operation: Operation, set: JointSet, epoch: number, watchMs: number) {
    const [old, next] = quorumsOf(set);
    if (old === undefined || next === undefined) throw new TypeError("set must have the fields old and new");
    this.#operation = operation;
    this.#epoch = epoch;
    this.#watchMs = watchMs;
    this.#old = old;
    this.#new = next;
    this.#nodes = [...new Set([...old.nodes, ...next.nodes])];
  }

  async status(): Promise<MigrationStatus> {
    const read = (node: LockNode) => this.#operation.raise(node, { floor: 0, epoch: 0 });
    const { results, failures } = await this.#operation.onEach(this.#nodes, read);
    const nodes = this.#nodes.map((node): NodeFloor => {
      const error = failures.find((failure) => failure.node === node.name)?.error ?? null;
      return { node: node.name, floor: results.get(node) ?? null, error };
    });
    const epoch = this.#epoch;
    const next = epochReached(nodes, this.#new);
    assertNotLater(results, epoch, this.#new);
    const before = epochReached(nodes, this.#old);
    if (before > 0 && before < epoch) {
      const found = `the old nodes serve ${servedBy(before)}`;
      throw new MembershipError(`${found}: the clients before this change cannot all be of ${clientsOf(epoch)} yet`);
    }
    if (next >= epoch + 4) return { stage: "ended", nodes };
    if (next >= epoch + 3) return { stage: "joined", nodes };
    if (next > epoch) return { stage: "begun", nodes };
    const replied = this.#new.nodes.filter((node) => results.has(node)).length;
    const isForgotten = replied >= this.#new.needed && [...results.values()].some((found) => found.epoch >= epoch + 2);
    return { stage: isForgotten ? "forgotten" : "none", nodes };
  }

  async begin(): Promise<MigrationStatus> {
    const { stage } = await this.#stage();
    if (stage === "ended") {
      const now = `the new nodes serve ${servedBy(this.#epoch + 4)} already`;
      const before = `the clients before it are not of ${clientsOf(this.#epoch)}`;
      throw new MembershipError(`could not begin the change: ${now}. It has ended, or ${before}`);
    }
    if (stage === "none" || stage === "begun") await this.#raise("begin the change", [this.#old, this.#new], 0, 1);
    return this.status();
  }

  async join(): Promise<MigrationStatus> {
    const { stage, nodes } = await this.#stage();
    if (stage === "none") throw new MembershipError("could not join: the change has not begun");
    if (stage === "ended") return this.status();
    const isBegun = stage === "begun";
    const found = isBegun ? floorsOf(await this.#untilQuiet(this.#old, this.#epoch + 2, this.#watchMs)) : nodes;
    // A node that has forgotten the change has forgotten counters as well, and must not look as if it had not.
    const begun = keepersOf(found, { floor: 0, epoch: this.#epoch + 1 }, this.#old);
    const members = { ...this.#old, nodes: this.#old.nodes.filter(({ name }) => begun.includes(name)) };
    const refusal: Floor = { floor: 0, epoch: this.#epoch + 2 };
    const refuse = (node: LockNode) => this.#operation.raise(node, refusal);
    const raised = await this.#operation.onQuorum(refusalOf(refusal.epoch), [members], refuse);
    // An attempt that was in progress may have become a lock. Each quorum has one of these nodes.
    const refusing = { ...this.#old, nodes: [...raised.keys()] };
    const contents = await this.#untilQuiet(refusing, this.#epoch + 2, 0);
    // A node that had lost its memory when it was read may have been healed when the status is read.
    const kept = keepersOf(floorsOf(contents), refusal, this.#old);
    const floor = 1 + Math.max(...[...contents.values()].map(({ highest }) => highest));
    await this.#raise("write the floor", [this.#new], floor, 3);
    const status = await this.status();
    keepersOf(
      status.nodes.filter(({ node }) => kept.includes(node)),
      refusal,
      this.#old,
    );
    keepersOf(status.nodes, { floor, epoch: this.#epoch + 3 }, this.#new);
    return status;
  }

  async end(): Promise<MigrationStatus> {
    const { stage } = await this.#stage();
    if (stage === "none" || stage === "begun") throw new MembershipError("could not end: the clients have not joined");
    if (stage === "joined") await this.#untilQuiet(this.#new, this.#epoch + 4, this.#watchMs);
    await this.#raise(refusalOf(this.#epoch + 4), [this.#new], 0, 4);
    return this.status();
  }

  /** Returns the status, or rejects unless a quorum of the new set tells the stage. */
  async #stage(): Promise<MigrationStatus> {
    const status = await this.status();
    if (status.stage === "forgotten") {
      const found = "most of the new nodes do not know about the change, though others refuse the clients before it";
      throw new MembershipError(`${found}: start those that have lost their data with it again, or heal them`);
    }
    const { nodes } = status;
    const failures = nodes.flatMap(({ node, error }) => (error === null ? [] : { node, error }));
    const { nodes: members, needed, which } = this.#new;
    const count = members.filter(({ name }) => !failures.some(({ node }) => node === name)).length;
    if (count >= needed) return status;
    const message = `could not tell the stage: ${count} of ${members.length} ${which} replied, ${needed} needed`;
    throw new MembershipError(message, failures);
  }

  /** Raises the floor, and the epoch to so many above that of the clients before the change. */
  #raise(what: string, quorums: readonly Quorum[], floor: number, above: number): Promise<Map<LockNode, Floor>> {
    const epoch = this.#epoch + above;
    return this.#operation.onQuorum(what, quorums, (node) => this.#operation.raise(node, { floor, epoch }));
  }

  /**
   * Waits until no claim of an earlier epoch has been on these nodes for some time, in two readings at least. A lock whose
   * claims come and go on single nodes, as extensions get lost and nodes rejoin, is on one of them at any time; two
   * readings within its ttl see it.
   * Nodes that fail are left out, as long as the others are enough, and the time begins again.
   *
   * @returns what the nodes keep, as of the last reading
   */
  async #untilQuiet(quorum: Quorum, epoch: number, quietMs: number): Promise<ReadonlyMap<LockNode, NodeContent>> {
    const operation = this.#operation;
    const startMs = operation.clock.monotonicMs();
    let quietSinceMs: number | undefined;
    let { nodes } = quorum;
    for (;;) {
      const contents = await operation.onQuorum("read the claims", [{ ...quorum, nodes }], (node) =>
        operation.read(node),
      );
      const claims = earlierClaims(contents, epoch);
      const nowMs = operation.clock.monotonicMs();
      if (claims.length > 0 || contents.size < nodes.length) quietSinceMs = undefined;
      else if (nowMs - (quietSinceMs ?? Infinity) >= quietMs) return contents;
      else quietSinceMs ??= nowMs;
      nodes = [...contents.keys()];
      if (claims.length > 0 && nowMs - startMs >= operation.settleMs) throw stillLocking(epoch, claims);
      const leftMs = Math.max(0, (quietSinceMs ?? nowMs) + quietMs - nowMs);
      operation.report({ doing: "waiting", claims, leftMs });
      await operation.pause(Math.min(pollMs, Math.max(1, leftMs)));
    }
  }
}

/** Returns the highest epoch that a quorum of the set has reached. */
function epochReached(floors: Floors, { nodes, needed }: Quorum): number {
  const members = floors.filter(({ node }) => nodes.some(({ name }) => name === node));
  return members.map(({ floor }) => floor?.epoch ?? 0).sort((a, b) => b - a)[needed - 1] ?? 0;
}

/** The floors of nodes, by name. */
type Floors = readonly Pick<NodeFloor, "node" | "floor">[];

function floorsOf(contents: ReadonlyMap<LockNode, NodeContent>): Floors {
  return [...contents].map(([{ name: node }, { floor, epoch }]) => ({ node, floor: { floor, epoch } }));
}

/**
 * Returns the names of those of the nodes that still have what was written, and throws unless they are enough, as one may
 * have lost its memory in between.
 */
function keepersOf(floors: Floors, wrote: Floor, { which, nodes, needed }: Quorum): readonly string[] {
  const members = floors.filter(({ node }) => nodes.some(({ name }) => name === node));
  const kept = members.filter(({ floor }) => floor && floor.floor >= wrote.floor && floor.epoch >= wrote.epoch);
  if (kept.length >= needed) return kept.map(({ node }) => node);
  const count = `${kept.length} of ${members.length} ${which} have kept what was written, ${needed} needed`;
  const lost = members.filter((member) => member.floor && !kept.includes(member)).map(({ node }) => node);
  const advice = lost.length === 0 ? "repeat this step" : `heal ${lost.join(", ")}, and repeat this step`;
  throw new MembershipError(`could not join: ${count}; ${advice}`);
}

/** Returns the claims of clients of earlier epochs. */
function earlierClaims(contents: ReadonlyMap<LockNode, NodeContent>, epoch: number): readonly EarlierClaim[] {
  const found = new Map<string, EarlierClaim>();
  for (const [{ name }, { claims }] of contents) {
    for (const claim of claims) {
      const { label, epoch: signed } = signerOf(claim.owner);
      if (signed >= epoch) continue;
      const key = JSON.stringify([claim.resource, claim.owner]);
      const { nodes = [], remainingMs = 0 } = found.get(key) ?? {};
      const longestMs = Math.max(remainingMs, claim.remainingMs);
      const signer = { label, clients: clientsOf(signed) };
      found.set(key, { ...claim, ...signer, remainingMs: longestMs, nodes: [...nodes, name] });
    }
  }
  return [...found.values()];
}

function stillLocking(epoch: number, claims: readonly EarlierClaim[]): MembershipError {
  const [first] = claims as [EarlierClaim];
  const who = first.label ?? "a client without a label";
  const others = claims.length === 1 ? "" : `, and ${claims.length - 1} more`;
  const example = `${who} of ${first.clients} holds ${first.resource} on ${first.nodes.join(", ")}${others}`;
  return new MembershipError(`clients before ${clientsOf(epoch)} still lock: ${example}`, [], claims);
}

/** Names the clients that are refused from this epoch on. */
function refusalOf(epoch: number): string {
  return `refuse clients before ${clientsOf(epoch)}`;
}
