import { setTimeout } from "node:timers/promises";
import { ConfigurationError, EpochError } from "@holdfast/core";
import {
  type AcquireReply,
  type AcquireRequest,
  assertAcquire,
  assertExtend,
  assertFloor,
  assertRelease,
  type Denial,
  type ExtendReply,
  type ExtendRequest,
  type Floor,
  type FloorRequest,
  type NodeRequest,
  type NodeView,
  type ReleaseReply,
  type ReleaseRequest,
  type ScanPortion,
  type ScanRequest,
  type ServerIdentity,
  type Sharer,
  timerMaxMs,
} from "@holdfast/core/node";
import { codeOf, type Database, isOfStatement, type Row, type Value } from "./client.ts";
import { within } from "./notifications.ts";
import { raiseOf, type Statement, type Statements } from "./statements.ts";
import { arrayOf, asciiOf, beginningOf, resourceOf, storedName, textOf } from "./table.ts";

/** How often a call is repeated because another one came first. One of the others succeeded each time. */
const triesMax = 20;

/** How long after a lost connection a release tries another one, in milliseconds. */
const reconnectDelayMs = 50;

/** How long requests that core does not wait for may wait for a connection, in milliseconds. */
const backgroundTimeoutMs = 10_000;

/** Another transaction has locked a row or the table for longer than the statement waits. It may have called `holds`. */
const lockTimedOut = "55P03";

/** What errors of core say then. */
const transactionOfOthers = "a transaction that called holds() or locks the table";

/** How long a table lock waits for claims in progress at first, in milliseconds. New claims wait behind it. */
const tableLockTimeoutMs = 200;

/** A statement that writes, on a standby or in a read-only session. */
const readOnly = "25006";

/** Begins the cursors of `scan`, which go on with the last name of the portion. */
const cursorPrefix = "after:";

/** A conflict at an isolation level above `READ COMMITTED`, as it may be the default of the database; or a deadlock. */
const conflicts: readonly string[] = ["40001", "40P01"];

/** Why a statement can never succeed, by SQLSTATE. */
const misconfigurations: Readonly<Record<string, string>> = {
  "42P01": "does not exist: create it with createTable() or holdfast create-table",
  "3F000": "is in a schema that does not exist",
  "42703": "has other columns than that of createTable(): name another one",
  "42501": "is forbidden to this user: SELECT, INSERT and UPDATE are needed",
};

/** Why the server will never accept a connection, by SQLSTATE. */
const refusals: readonly string[] = ["28P01", "28000", "3D000"];

/** A claim that blocks the request. */
interface Refusal {
  readonly denial: Denial;
  /** Whether the waiter is in the lists already. */
  readonly isListed: boolean;
}

/** The claims in a table. */
export class Claims {
  readonly #database: Database;
  readonly #table: string;
  readonly #statements: Statements;

  /**
   * @param database the client
   * @param table the qualified, quoted name of the table
   * @param statements the statements over it
   */
  constructor(database: Database, table: string, statements: Statements) {
    this.#database = database;
    this.#table = table;
    this.#statements = statements;
  }

  /** See `LockNode.acquire`. */
  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    assertAcquire(request);
    const names = request.resources.map(storedName);
    return this.#repeat(async () => {
      try {
        const isOne = names.length === 1 && !request.shared;
        const outcome = await (isOne ? this.#acquireOne(request, names) : this.#acquireAll(request, names));
        if (outcome === undefined || "granted" in outcome) return outcome;
        const isWaiting = request.waiter !== undefined && !outcome.isListed;
        if (isWaiting && !(await this.#wait(request, names))) return undefined; // released meanwhile
        return outcome.denial;
      } catch (error) {
        if (codeOf(error) === lockTimedOut) return { granted: false, blockedBy: transactionOfOthers };
        throw error;
      }
    });
  }

  async #acquireOne(request: AcquireRequest, names: readonly string[]): Promise<AcquireReply | Refusal | undefined> {
    const { resources, owner } = request;
    const values = [...names, ...claimOf(request), epochOf(request)];
    const [row] = await this.#query(request, this.#statements.acquireOne, values);
    if (row === undefined) return undefined; // another claim came first
    const [holder, fence, wait, listed, isShared, refusing, isolation] = row;
    assertServed(request, refusing);
    const isResent = holder === asciiOf(owner) && isShared === "false";
    if (isResent) return { granted: true, fence: Number(fence) };
    if (holder === null) return this.#confirmed(request, Number(fence), isolation);
    return { denial: denialOf(owner, holder, wait, resources), isListed: listed === "true" };
  }

  async #acquireAll(request: AcquireRequest, names: readonly string[]): Promise<AcquireReply | Refusal | undefined> {
    const row = await this.#grantAll(request, names, true);
    const [verdict, fence, holder, wait, held, listed, refusing, isolation] = row;
    assertServed(request, refusing);
    if (verdict === "resent") return { granted: true, fence: Number(fence) };
    if (verdict === "granted") return this.#confirmed(request, Number(fence), isolation);
    if (verdict !== "denied") return undefined;
    const isHeld = new Set<string>(JSON.parse(held ?? "[]"));
    const heldResources = request.resources.filter((_, index) => isHeld.has(names[index] as string));
    return { denial: denialOf(request.owner, holder, wait, heldResources), isListed: listed === "true" };
  }

  /**
   * Grants, unless the epoch was raised since the snapshot of the statement. Above `READ COMMITTED`, the snapshot may be
   * older than the table lock for which the statement waited.
   */
  async #confirmed(
    request: AcquireRequest,
    fence: number,
    isolation: string | null | undefined,
  ): Promise<AcquireReply> {
    const { resources, owner, timeoutMs } = request;
    const grant: AcquireReply = { granted: true, fence, ...(resources.length > 1 && { uniform: true }) };
    if (isolation === "read committed") return grant;
    const { epoch } = await this.#floor(timeoutMs);
    const own = epochOf(request);
    if (epoch === 0 || Math.abs(own - epoch) <= 1) return grant;
    await this.release({ resources, owner, undo: true, timeoutMs });
    throw new EpochError(epoch, own);
  }

  /** Claims all resources. Inserts rows that are missing, so that the next try can lock them. */
  async #grantAll(request: AcquireRequest, names: readonly string[], isNew: boolean): Promise<Row> {
    const values = [arrayOf(names), ...claimOf(request), isNew, epochOf(request)];
    const statement = request.shared ? this.#statements.share : this.#statements.acquireAll;
    const [row = []] = await this.#query(request, statement, values);
    if (row[0] === "missing") await this.#query(request, this.#statements.insert, [arrayOf(names)]);
    return row;
  }

  /** Adds the waiter to the lists of held resources. Returns whether any resource still keeps it out. */
  async #wait(request: AcquireRequest, names: readonly string[]): Promise<boolean> {
    const values = [arrayOf(names), optional(request.takeover), waiterOf(request), lockTimeoutOf(request)];
    const rows = await this.#query(request, this.#statements.wait, values);
    return rows.some(([name]) => name !== null);
  }

  /** See `LockNode.extend`. */
  async extend(request: ExtendRequest): Promise<ExtendReply> {
    assertExtend(request);
    const { resources, owner, ttlMs, fence, rejoin, shared = false } = request;
    const names = resources.map(storedName);
    return this.#repeat<ExtendReply>(async () => {
      const values = [arrayOf(names), asciiOf(owner), ttlMs, fence, lockTimeoutOf(request), shared];
      const [[held, highest, holder] = []] = await this.#query(request, this.#statements.extend, values);
      if (held === "true") return { held: true, fence: Number(highest) };
      if (holder != null) return { held: false, rejoined: false, holder: textOf(holder) };
      if (!rejoin) return { held: false, rejoined: false };
      return this.#rejoin(request, names);
    });
  }

  /** Claims all again, as a grant in which claims of the same owner do not block. */
  async #rejoin(request: ExtendRequest, names: readonly string[]): Promise<ExtendReply | undefined> {
    const claim = { ...request, fenceHint: request.fence, takeover: request.owner };
    try {
      const [verdict] = await this.#grantAll(claim, names, false);
      if (verdict === "granted") return { held: false, rejoined: true };
      return verdict === "denied" ? { held: false, rejoined: false } : undefined;
    } catch (error) {
      if (codeOf(error) === lockTimedOut) return { held: false, rejoined: false };
      throw error;
    }
  }

  /** See `LockNode.release`. */
  async release(request: ReleaseRequest): Promise<ReleaseReply> {
    assertRelease(request);
    const { resources, owner, undo = false } = request;
    const values = [arrayOf(resources.map(storedName)), asciiOf(owner), waiterOf(request), undo];
    const endMs = performance.now() + request.timeoutMs;
    return this.#repeat(async () => {
      const rows = await this.#releaseOver(values, request, endMs);
      const next = rows.find(([name]) => name !== null)?.[0];
      return { released: rows.length > 0, ...(next && { next: textOf(next) }) };
    });
  }

  /**
   * Sends a release until the server replies. Otherwise the connection was lost, or led to a standby: another one repeats
   * what may not have happened, at least once, and until the end of the request.
   */
  async #releaseOver(values: readonly Value[], request: ReleaseRequest, endMs: number): Promise<readonly Row[]> {
    for (let isLast = false; ; isLast = performance.now() >= endMs) {
      try {
        return await this.#query({ ...request, timeoutMs: backgroundTimeoutMs }, this.#statements.release, values);
      } catch (error) {
        if (isLast || isOfStatement(error) || error instanceof ConfigurationError) throw error;
      }
      await setTimeout(Math.min(reconnectDelayMs, Math.max(0, endMs - performance.now())));
    }
  }

  /** Returns what identifies the server, if the user may ask. Databases of one server and its clones differ from others. */
  async identify({ timeoutMs }: NodeRequest): Promise<ServerIdentity> {
    // A pool waits endlessly for a connection that hangs.
    const late = () => new Error(`no answer within ${Math.round(timeoutMs)} ms`);
    try {
      const [[id] = []] = await within(timeoutMs, this.#database.query(this.#statements.identify, [], timeoutMs), late);
      return { id: id ?? undefined, isReplica: false };
    } catch (error) {
      if (!isOfStatement(error)) throw error;
      return { id: undefined, isReplica: false };
    }
  }

  /** See `LockNode.inspect`. */
  async inspect(resource: string): Promise<NodeView> {
    const [row] = await this.run(this.#statements.inspect, [storedName(resource)], [resource]);
    const [owner = null, wait, fence, sharers, floor, isStandby] = row ?? [];
    assertPrimary(isStandby);
    const isHeld = owner !== null;
    return {
      owner: isHeld ? textOf(owner) : null,
      remainingMs: isHeld ? Math.max(0, Number(wait)) : null,
      ...(isHeld && sharers != null && { sharers: sharersOf(sharers) }),
      fence: Number(fence ?? 0),
      ...(Number(floor) > 0 && { floor: Number(floor) }),
    };
  }

  /** See `LockNode.raiseFloor`. */
  async raiseFloor(request: FloorRequest): Promise<Floor> {
    assertFloor(request);
    const { floor, epoch, timeoutMs } = request;
    const endMs = performance.now() + timeoutMs;
    const stored = await this.#floor(timeoutMs);
    if (stored.floor >= floor && stored.epoch >= epoch) return stored;
    // Each try waits for longer: PostgreSQL cancels an autovacuum of the table when a lock has waited for a second.
    for (let waitMs = tableLockTimeoutMs; ; waitMs *= 2) {
      try {
        const text = raiseOf(this.#table, { floor, epoch }, Math.min(waitMs, timerMaxMs));
        const [[raisedFloor, raisedEpoch] = []] = await this.#script(text);
        return { floor: Number(raisedFloor), epoch: Number(raisedEpoch) };
      } catch (error) {
        const isBusy = codeOf(error) === lockTimedOut || conflicts.includes(codeOf(error));
        if (!isBusy || performance.now() > endMs) throw error;
      }
    }
  }

  /** Reads the floor and the epoch. */
  async #floor(timeoutMs: number): Promise<Floor> {
    const [[floor, epoch, isStandby] = []] = await this.#query(
      { resources: [], timeoutMs },
      this.#statements.floor,
      [],
    );
    assertPrimary(isStandby);
    return { floor: Number(floor), epoch: Number(epoch) };
  }

  /** See `LockNode.scan`. */
  async scan({ cursor = cursorPrefix, timeoutMs }: ScanRequest): Promise<ScanPortion> {
    if (!cursor.startsWith(cursorPrefix))
      throw new RangeError(`cursor must be of this node, not ${JSON.stringify(cursor)}`);
    const after = cursor.slice(cursorPrefix.length);
    const [row = []] = await this.#query({ resources: [], timeoutMs }, this.#statements.scan, [after]);
    const [counters, highest, last, json, isStandby] = row;
    assertPrimary(isStandby);
    const claims: [string, string, number][] = JSON.parse(json ?? "[]");
    return {
      counters: Number(counters),
      highest: Number(highest),
      claims: claims.map(([name, owner, wait]) => {
        const resource = resourceOf(name) ?? `${beginningOf(name)}…`;
        return { resource, owner: textOf(owner), remainingMs: Math.max(0, wait) };
      }),
      ...(last != null && { cursor: `${cursorPrefix}${last}` }),
    };
  }

  /** Runs a statement that belongs to no request, again if it conflicts with another transaction. */
  run(statement: Statement, values: readonly Value[], resources: readonly string[] = []): Promise<readonly Row[]> {
    return this.#repeat(() => this.#query({ resources, timeoutMs: backgroundTimeoutMs }, statement, values));
  }

  async #script(text: string): Promise<readonly Row[]> {
    try {
      return await this.#database.script(text);
    } catch (error) {
      throw this.#explained(error, []);
    }
  }

  async #query(
    { resources, timeoutMs }: Pick<NodeRequest, "resources" | "timeoutMs">,
    statement: Statement,
    values: readonly Value[],
  ): Promise<readonly Row[]> {
    try {
      return await this.#database.query(statement, values, timeoutMs);
    } catch (error) {
      throw this.#explained(error, resources);
    }
  }

  /** Repeats a step until it returns something. */
  async #repeat<T>(step: () => Promise<T | undefined>): Promise<T> {
    for (let tries = 0; tries < triesMax; tries++) {
      try {
        const result = await step();
        if (result !== undefined) return result;
      } catch (error) {
        if (!conflicts.includes(codeOf(error))) throw error;
      }
    }
    throw new Error(`gave up after ${triesMax} tries, in each of which another claim came first`);
  }

  #explained(error: unknown, resources: readonly string[]): unknown {
    const code = codeOf(error);
    const { message } = Object(error);
    if (refusals.includes(code))
      return new ConfigurationError(`the server refuses the connection: ${message}`, resources);
    const reason = misconfigurations[code];
    if (reason !== undefined)
      return new ConfigurationError(`the table ${this.#table} ${reason} (${message})`, resources);
    if (code === readOnly) return new Error(`the server takes no writes, as a standby does: ${message}`);
    if (code === "23514") return new RangeError(`the fence counter of ${resources.join(", ")} is used up`);
    return error;
  }
}

/** Returns the values of an acquiring statement after the names. */
function claimOf(request: AcquireRequest): Value[] {
  const { owner, ttlMs, fenceHint, takeover } = request;
  return [asciiOf(owner), ttlMs, fenceHint, optional(takeover), waiterOf(request), lockTimeoutOf(request)];
}

/** Returns the epoch of the client. */
function epochOf({ epoch = 1 }: Pick<AcquireRequest, "epoch">): number {
  return epoch;
}

/** Throws if the table's epoch refuses the client. */
function assertServed(request: AcquireRequest, refusing: string | null | undefined): void {
  if (refusing != null) throw new EpochError(Number(refusing), epochOf(request));
}

/** Throws if the server is a standby, which may not have the latest claims and counters. */
function assertPrimary(isStandby: string | null | undefined): void {
  if (isStandby === "true") throw new Error("the server is a standby: connect to the primary server");
}

/** Returns a waiter as lists name it: with its kind. */
function waiterOf({ waiter, shared }: Pick<AcquireRequest, "waiter" | "shared">): string | null {
  return waiter === undefined ? null : `${shared ? "s" : "x"}${asciiOf(waiter)}`;
}

/** How long a statement waits for a row. A denial then arrives before the deadline of the request. */
function lockTimeoutOf({ timeoutMs }: NodeRequest): string {
  return `${Math.min(Math.max(1, Math.floor(timeoutMs / 2)), timerMaxMs)}ms`;
}

function denialOf(
  owner: string,
  holder: string | null | undefined,
  wait: string | null | undefined,
  held: readonly string[],
): Denial {
  const name = holder ? textOf(holder) : owner;
  return {
    granted: false,
    ...(wait != null && { retryAfterMs: Math.max(0, Number(wait)) }),
    ...(name !== owner && { holder: name }),
    ...(held.length > 0 && { heldResources: held }),
  };
}

function sharersOf(json: string): Sharer[] {
  const sharers: [string, number][] = JSON.parse(json);
  return sharers.map(([owner, wait]) => ({ owner: textOf(owner), remainingMs: Math.max(0, wait) }));
}

function optional(text: string | undefined): string | null {
  return text === undefined ? null : asciiOf(text);
}
