import {
  type AcquireReply,
  type AcquireRequest,
  ConfigurationError,
  type Denial,
  type ExtendReply,
  type ExtendRequest,
  type NodeRequest,
  type NodeView,
  type ReleaseReply,
  type ReleaseRequest,
  type Sharer,
} from "@holdfast/core";
import { assertAcquire, assertExtend, assertRelease } from "@holdfast/core/requests";
import { codeOf, type Database, isOfStatement, type Row, type Value } from "./client.ts";
import type { Statement, Statements } from "./statements.ts";
import { arrayOf, asciiOf, storedName, textOf } from "./table.ts";

/** How often a call is repeated because another one came first. One of the others succeeded each time. */
const triesMax = 20;

/** The longest wait that PostgreSQL and timers can express, in milliseconds: 24 days. */
const longestMs = 2 ** 31 - 1;

/** How long requests that core does not wait for may wait for a connection, in milliseconds. */
const patienceMs = 10_000;

/** Another transaction has locked a row for longer than the statement waits: it has called `holds`. */
const lockTimedOut = "55P03";

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

/** A claim in the way. */
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
        const outcome = await (names.length === 1 && !request.shared
          ? this.#acquireOne(request, names)
          : this.#acquireAll(request, names));
        if (outcome === undefined || "granted" in outcome) return outcome;
        const isWaiting = request.waiter !== undefined && !outcome.isListed;
        if (isWaiting && !(await this.#wait(request, names))) return undefined; // released meanwhile
        return outcome.denial;
      } catch (error) {
        if (codeOf(error) === lockTimedOut) return { granted: false };
        throw error;
      }
    });
  }

  async #acquireOne(request: AcquireRequest, names: readonly string[]): Promise<AcquireReply | Refusal | undefined> {
    const { resources, owner } = request;
    const values = [...names, ...claimOf(request)];
    const [row] = await this.#query(request, this.#statements.acquireOne, values);
    if (row === undefined) return undefined; // another claim came first
    const [holder, fence, wait, listed, isShared] = row;
    const isResent = holder === asciiOf(owner) && isShared === "false";
    if (holder === null || isResent) return { granted: true, fence: Number(fence) };
    return { denial: denialOf(owner, holder, wait, resources), isListed: listed === "true" };
  }

  async #acquireAll(request: AcquireRequest, names: readonly string[]): Promise<AcquireReply | Refusal | undefined> {
    const [verdict, fence, holder, wait, held, listed] = await this.#grantAll(request, names, true);
    if (verdict === "granted" || verdict === "resent") return { granted: true, fence: Number(fence) };
    if (verdict !== "denied") return undefined;
    const isHeld = new Set<string>(JSON.parse(held ?? "[]"));
    const heldResources = request.resources.filter((_, index) => isHeld.has(names[index] as string));
    return { denial: denialOf(request.owner, holder, wait, heldResources), isListed: listed === "true" };
  }

  /** Claims all resources. Inserts rows that are missing, so that the next try can lock them. */
  async #grantAll(request: AcquireRequest, names: readonly string[], isHint: boolean): Promise<Row> {
    const values = [arrayOf(names), ...claimOf(request), isHint];
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
      const [[held, highest, others] = []] = await this.#query(request, this.#statements.extend, values);
      if (held === "true") return { held: true, fence: Number(highest) };
      if (!rejoin || Number(others) > 0) return { held: false, rejoined: false };
      return this.#rejoin(request, names);
    });
  }

  /** Claims all again, as a grant in which claims of the same owner are not in the way. */
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
    return this.#repeat(async () => {
      const send = () => this.#query({ ...request, timeoutMs: patienceMs }, this.#statements.release, values);
      // Unless the server has replied with an error of the statement, the connection was lost. Another one repeats what
      // may not have happened.
      const rows = await send().catch((error) => {
        if (isOfStatement(error) || error instanceof ConfigurationError) throw error;
        return send();
      });
      const next = rows.find(([name]) => name !== null)?.[0];
      return { released: rows.length > 0, ...(next && { next: textOf(next) }) };
    });
  }

  /** See `LockNode.inspect`. */
  async inspect(resource: string): Promise<NodeView> {
    const [row] = await this.run(this.#statements.inspect, [storedName(resource)], [resource]);
    const [owner = null, wait, fence, sharers] = row ?? [];
    const isHeld = owner !== null;
    return {
      owner: isHeld ? textOf(owner) : null,
      remainingMs: isHeld ? Math.max(0, Number(wait)) : null,
      ...(isHeld && sharers != null && { sharers: sharersOf(sharers) }),
      fence: Number(fence ?? 0),
    };
  }

  /** Runs a statement that belongs to no request. */
  run(statement: Statement, values: readonly Value[], resources: readonly string[] = []): Promise<readonly Row[]> {
    return this.#query({ resources, timeoutMs: patienceMs }, statement, values);
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
    if (code === "23514") return new RangeError(`the fence counter of ${resources.join(", ")} is used up`);
    return error;
  }
}

/** Returns the values of an acquiring statement after the names. */
function claimOf(request: AcquireRequest): Value[] {
  const { owner, ttlMs, fenceHint, takeover } = request;
  return [asciiOf(owner), ttlMs, fenceHint, optional(takeover), waiterOf(request), lockTimeoutOf(request)];
}

/** Returns a waiter as lists name it: with its kind. */
function waiterOf({ waiter, shared }: Pick<AcquireRequest, "waiter" | "shared">): string | null {
  return waiter === undefined ? null : `${shared ? "s" : "x"}${asciiOf(waiter)}`;
}

/** How long a statement waits for a row. A denial then arrives before the deadline of the request. */
function lockTimeoutOf({ timeoutMs }: NodeRequest): string {
  return `${Math.min(Math.max(1, Math.floor(timeoutMs / 2)), longestMs)}ms`;
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
