import { setTimeout } from "node:timers/promises";
import { ConfigurationError } from "@holdfast/core";
import {
  type AcquireReply,
  type AcquireRequest,
  assertAcquire,
  assertExtend,
  assertFloor,
  assertRelease,
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
  timerMaxMs,
} from "@holdfast/core/node";
import { type Database, isOfStatement, numberOf, type Row, uncommitted, type Written } from "./client.ts";
import { acquire, type Entry, extend, type Outcome, release, sharesOf, type View } from "./rules.ts";
import { type NamedEntry, pageSize, type Statements } from "./statements.ts";
import { beginningOf, resourceOf, storedName, textOf } from "./table.ts";

/** What the rows of a request were at one moment. */
interface NamedView extends View {
  readonly entries: readonly NamedEntry[];
  /** Whether the table has a row for the floor. */
  readonly hasFloor: boolean;
}

/** How long requests that core does not wait for may wait for a connection, in milliseconds. */
const backgroundTimeoutMs = 10_000;

/** How long after a lost connection a release tries another one, in milliseconds. */
const reconnectDelayMs = 50;

/** How long a request waits at most before it looks again at rows that others keep locked or change, in milliseconds. */
const retryDelayMaxMs = 32;

/** How long a request looks again at rows that a transaction keeps locked, in milliseconds, or for half of its timeout. */
const lockedMaxMs = 250;

/** What errors of core say of a lock that nobody holds, and nobody gets. */
const transactionOfOthers = "a transaction that called holds() or locks the table";

/** Begins the cursors of `scan`, which go on with the last name of the portion. */
const cursorPrefix = "after:";

/**
 * Errors of a statement or a commit that another one has made fail, by number: a duplicate row, a wait for a lock, a
 * deadlock (also the failed certification of a cluster), a change since the snapshot, a conflict of a replication group.
 */
const conflicts: readonly number[] = [1062, 1205, 1213, 1020, 3101];

/** Why a statement can never succeed, by number. */
const misconfigurations: Readonly<Record<number, string>> = {
  1146: "does not exist: create it with createTable()",
  1046: "is in no database: name one in the client's or the node's options",
  1049: "is in a database that does not exist",
  1054: "has other columns than that of createTable(): name another one",
  1142: "is forbidden to this user: SELECT, INSERT and UPDATE are needed",
  1143: "is forbidden to this user: SELECT, INSERT and UPDATE are needed",
  1044: "is in a database that is forbidden to this user",
};

/** Why the server will never accept a connection, by number. */
const refusals: readonly number[] = [1045, 1698, 1251];

/** A statement that writes, on a server or in a session that is read-only. */
const readOnly: readonly number[] = [1290, 1792, 1836];

/** The claims in a table. */
export class Claims {
  readonly #database: Database;
  readonly #table: string;
  readonly #statements: Statements;
  /** The last turns at resources, see `#turnAt`. */
  readonly #turns = new Map<string, Promise<void>>();

  /**
   * @param database the client
   * @param table the quoted name of the table
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
    const blocked = { granted: false, blockedBy: transactionOfOthers } as const;
    return this.#decide<AcquireReply>(
      request,
      (view) => acquire(view, request),
      (reply) => (reply.granted ? blocked : reply),
    );
  }

  /** See `LockNode.extend`. */
  async extend(request: ExtendRequest): Promise<ExtendReply> {
    assertExtend(request);
    const { resources, owner, ttlMs, fence, shared } = request;
    const [name] = resources.length === 1 && !shared ? resources.map(storedName) : [];
    if (name !== undefined) {
      const text = this.#statements.extendOne(name, owner, ttlMs, fence);
      const { affectedRows, insertId } = await this.#tryWrite(text, request);
      if (affectedRows > 0) return { held: true, fence: insertId };
    }
    return this.#decide<ExtendReply>(
      request,
      (view) => extend(view, request),
      (reply) => (reply.held ? undefined : { held: false, rejoined: false }),
    );
  }

  /** See `LockNode.release`. */
  async release(request: ReleaseRequest): Promise<ReleaseReply> {
    assertRelease(request);
    const endMs = performance.now() + request.timeoutMs;
    const patient = { ...request, timeoutMs: Math.max(request.timeoutMs, backgroundTimeoutMs) };
    // A lost connection leaves open whether the claim has ended: another one repeats the release, at least once.
    for (let isLast = false; ; isLast = performance.now() >= endMs) {
      try {
        return await this.#release(patient);
      } catch (error) {
        if (isLast || isOfStatement(error) || error instanceof ConfigurationError) throw error;
      }
      await setTimeout(Math.min(reconnectDelayMs, Math.max(0, endMs - performance.now())));
    }
  }

  async #release(request: ReleaseRequest): Promise<ReleaseReply> {
    const { resources, owner, undo = false } = request;
    // In most cases, the attempt that is undone was denied: then there is nothing to write.
    const [name] = resources.length === 1 && !undo ? resources.map(storedName) : [];
    if (name !== undefined) {
      const { affectedRows } = await this.#tryWrite(this.#statements.releaseOne(name, owner), request);
      if (affectedRows > 0) return { released: true };
    }
    return this.#decide(request, (view) => release(view, request));
  }

  /**
   * Reads the rows of a request, decides, and writes what that changes: again, until nobody else has changed them in between.
   *
   * @param decide returns the reply, and the entries that it changes
   * @param whileLocked returns the reply instead if a transaction keeps the rows locked; undefined makes that a failure
   */
  async #decide<Reply>(
    request: NodeRequest,
    decide: (view: View) => Outcome<Reply>,
    whileLocked: (reply: Reply) => Reply | undefined = () => undefined,
  ): Promise<Reply> {
    const { resources, timeoutMs } = request;
    const endMs = performance.now() + timeoutMs;
    let versions: string | undefined;
    let unchangedSinceMs = 0;
    let endTurn: (() => void) | undefined;
    try {
      for (let delayMs = 1; ; delayMs = Math.min(2 * delayMs, retryDelayMaxMs)) {
        const view = await this.#look({ resources, timeoutMs: endMs - performance.now() });
        const { reply, changes } = decideOn(view, resources, decide);
        const isWritten = changes.length === 0 || (await this.#change(request, view, changes, endMs));
        if (isWritten) return reply;
        const before = versions;
        versions = view.entries.map(({ version }) => version).join();
        if (versions !== before) unchangedSinceMs = performance.now();
        if (endTurn === undefined) {
          endTurn = await this.#turnAt(resources[0] as string);
        } else {
          await setTimeout(delayMs * Math.random());
          // Rows that nobody has changed for so long are locked.
          const isLocked = performance.now() - unchangedSinceMs > Math.min(lockedMaxMs, timeoutMs / 2);
          const instead = isLocked ? whileLocked(reply) : undefined;
          if (instead !== undefined) return instead;
        }
        if (performance.now() > endMs) throw new Error("gave up, as others have changed or locked the rows each time");
      }
    } finally {
      endTurn?.();
    }
  }

  /**
   * Waits for earlier requests of this node that look at a resource again: of hundreds at once, all but one would look in
   * vain each time. Resolves with a function that ends the turn.
   */
  async #turnAt(resource: string): Promise<() => void> {
    const earlier = this.#turns.get(resource);
    let endTurn = (): void => {};
    const turn = new Promise<void>((resolve) => {
      endTurn = () => {
        if (this.#turns.get(resource) === turn) this.#turns.delete(resource);
        resolve();
      };
    });
    this.#turns.set(resource, turn);
    await earlier;
    return endTurn;
  }

  /** Writes changes, all or none. Returns false if others have changed the rows, or keep them locked. */
  async #change(request: NodeRequest, view: NamedView, entries: readonly Entry[], endMs: number): Promise<boolean> {
    const { resources } = request;
    const write = (text: string) => this.#tryWrite(text, { resources, timeoutMs: endMs - performance.now() });
    const { begin, change, insert } = this.#statements;
    const changes = entries.map((after) => {
      const before = view.entries.find(({ resource }) => resource === after.resource) as NamedEntry;
      return { before, after };
    });
    const isNew = view.hasFloor && changes.every(({ before }) => before.rows === 0);
    const missing = changes.filter(({ before }) => before.rows < 2).map(({ before }) => before.name);
    if (missing.length > 0 && !isNew) await write(insert(missing));
    const text = isNew ? begin(changes, view) : change(changes, "fenceHint" in request ? view : undefined);
    return (await write(text)).affectedRows > 0;
  }

  async #look(request: Pick<NodeRequest, "resources" | "timeoutMs">): Promise<NamedView> {
    const { resources } = request;
    const names = resources.map(storedName);
    const rows = await this.#read(this.#statements.look(names.length > 0 ? names : [Buffer.alloc(0)]), request);
    const [nowUs, floor, epoch, readOnlyMode, autocommit] = rows[0]?.slice(7) ?? [];
    if (String(autocommit) !== "1") throw uncommitted();
    if (!["0", "OFF"].includes(String(readOnlyMode))) throw new Error(takesNoWrites);
    return {
      nowUs: Number(nowUs),
      floor: Number(floor),
      epoch: Number(epoch),
      hasFloor: floor != null,
      entries: resources.map((resource, index) => entryOf(resource, names[index] as Buffer, rows[index] as Row)),
    };
  }

  /** Returns what identifies the server: the cluster that it belongs to, if its members have the same data. */
  async identify({ timeoutMs }: NodeRequest): Promise<ServerIdentity> {
    const answered = new AbortController();
    const late = setTimeout(Math.min(timeoutMs, timerMaxMs), undefined, { signal: answered.signal }).then(() => {
      throw new Error(`no answer within ${Math.round(timeoutMs)} ms`); // a pool waits endlessly for a connection that hangs
    });
    try {
      return await Promise.race([this.#identity({ resources: [], timeoutMs }), late]);
    } finally {
      answered.abort();
    }
  }

  async #identity(request: Pick<NodeRequest, "resources" | "timeoutMs">): Promise<ServerIdentity> {
    const variables = await this.#variables(this.#statements.variables, request);
    const cluster = (await this.#variables(this.#statements.clusterState, request)).get("wsrep_cluster_state_uuid");
    const group = variables.get("group_replication_group_name");
    const of = (name: string): string => variables.get(name) ?? "";
    const own = `server ${of("server_uuid")}${of("server_uid")} at ${of("hostname")}:${of("port")}${of("datadir")}`;
    const id = cluster ? `cluster ${cluster}` : group ? `group ${group}` : own;
    return { id, isReplica: of("read_only") !== "OFF" };
  }

  async #variables(text: string, request: Pick<NodeRequest, "resources" | "timeoutMs">): Promise<Map<string, string>> {
    const rows = await this.#read(text, request);
    return new Map(rows.map(([name, value]) => [String(name), value ? String(value) : ""]));
  }

  /** See `LockNode.inspect`. */
  async inspect(resource: string): Promise<NodeView> {
    const { entries, nowUs, floor } = await this.#look({ resources: [resource], timeoutMs: backgroundTimeoutMs });
    const entry = entries[0] as NamedEntry;
    const isHeld = entry.owner !== null && entry.untilUs > nowUs;
    const sharers = sharesOf(entry, nowUs).map(([owner, [untilUs]]) => ({
      owner,
      remainingMs: (untilUs - nowUs) / 1_000,
    }));
    return {
      owner: isHeld ? entry.owner : null,
      remainingMs: isHeld ? (entry.untilUs - nowUs) / 1_000 : null,
      ...(sharers.length > 0 && { sharers: sharers.sort((a, b) => b.remainingMs - a.remainingMs) }),
      fence: entry.fence,
      ...(floor > 0 && { floor }),
    };
  }

  /** See `LockNode.raiseFloor`. */
  async raiseFloor(request: FloorRequest): Promise<Floor> {
    assertFloor(request);
    const { floor, epoch, timeoutMs } = request;
    const all = { resources: [], timeoutMs };
    for (const endMs = performance.now() + timeoutMs; ; ) {
      const stored = await this.#look(all);
      if (stored.floor >= floor && stored.epoch >= epoch) return { floor: stored.floor, epoch: stored.epoch };
      if (performance.now() > endMs) throw new Error("gave up, as claims in progress have kept the floor locked");
      await this.#tryWrite(this.#statements.raise(request), all);
    }
  }

  /** Writes, unless another statement comes first. */
  async #tryWrite(text: string, request: Pick<NodeRequest, "resources" | "timeoutMs">): Promise<Written> {
    try {
      return await this.#write(text, request);
    } catch (error) {
      if (conflicts.includes(numberOf(error))) return { affectedRows: 0, insertId: 0 };
      throw error;
    }
  }

  /** See `LockNode.scan`. */
  async scan({ cursor = cursorPrefix, timeoutMs }: ScanRequest): Promise<ScanPortion> {
    if (!/^after:([\da-f]{2})*$/.test(cursor))
      throw new RangeError(`cursor must be of this node, not ${JSON.stringify(cursor)}`);
    const after = Buffer.from(cursor.slice(cursorPrefix.length), "hex");
    await this.#look({ resources: [], timeoutMs }); // rejects on a replica
    const rows = await this.#read(this.#statements.scan(after), { resources: [], timeoutMs });
    const entries = rows.map(([name, owner, until, fence, sharers, nowUs]) => ({
      ...entryOf("", name as Buffer, [owner, until, fence, sharers] as Row),
      nowUs: Number(nowUs),
    }));
    const last = entries.length > pageSize ? entries.at(-1)?.name : undefined;
    return {
      counters: entries.filter(({ fence }) => fence > 0).length,
      highest: entries.reduce((highest, { fence }) => Math.max(highest, fence), 0),
      claims: entries.flatMap((entry) => {
        const resource = resourceOf(entry.name) ?? `${beginningOf(entry.name)}…`;
        const claims = entry.sharers ? sharesOf(entry, entry.nowUs) : ([[entry.owner, [entry.untilUs]]] as const);
        return claims.flatMap(([owner, [untilUs]]) =>
          owner === null || untilUs <= entry.nowUs
            ? []
            : [{ resource, owner, remainingMs: (untilUs - entry.nowUs) / 1_000 }],
        );
      }),
      ...(last !== undefined && { cursor: cursorPrefix + last.toString("hex") }),
    };
  }

  /** Returns the names of held resources after a name, in order, one page; rejects on a replica. */
  async list(after: Buffer): Promise<readonly Buffer[]> {
    const request = { resources: [], timeoutMs: backgroundTimeoutMs };
    await this.#look(request);
    return (await this.#read(this.#statements.list(after), request)).map(([name]) => name as Buffer);
  }

  /** Deletes up to a page of unused rows, and raises the floor to the highest of their counters. Returns their number. */
  async deleteUnused(unusedForMs: number): Promise<number> {
    const request = { resources: [], timeoutMs: backgroundTimeoutMs };
    const { unused, lockFloor, lockUnused, insert, bury, remove } = this.#statements;
    const unusedForUs = 1_000 * unusedForMs;
    const found = (await this.#read(unused(unusedForUs), request)).map(([name]) => name as Buffer);
    if (found.length === 0) return 0;
    await this.#write(insert([]), request);
    const work = async (run: (text: string) => Promise<unknown>): Promise<number> => {
      await run(lockFloor);
      const rows = (await run(lockUnused(found, unusedForUs))) as readonly Row[];
      const highest = rows.reduce((most, [, fence]) => Math.max(most, Number(fence)), 0);
      if (rows.length === 0) return 0;
      await run(bury(highest));
      await run(remove(rows.map(([name]) => name as Buffer)));
      return rows.length;
    };
    return this.#explaining([], () => this.#database.transaction(work, backgroundTimeoutMs));
  }

  #read(text: string, { resources, timeoutMs }: Pick<NodeRequest, "resources" | "timeoutMs">): Promise<readonly Row[]> {
    return this.#explaining(resources, () => this.#database.read(text, timeoutMs));
  }

  #write(text: string, { resources, timeoutMs }: Pick<NodeRequest, "resources" | "timeoutMs">): Promise<Written> {
    return this.#explaining(resources, () => this.#database.write(text, timeoutMs));
  }

  /** Turns errors of the server into those that say what to do. */
  async #explaining<T>(resources: readonly string[], send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      const number = numberOf(error);
      const { message } = Object(error);
      if (refusals.includes(number))
        throw new ConfigurationError(`the server refuses the connection: ${message}`, resources);
      const reason = misconfigurations[number];
      if (reason !== undefined)
        throw new ConfigurationError(`the table ${this.#table} ${reason} (${message})`, resources);
      if (readOnly.includes(number)) throw new Error(`${takesNoWrites}: ${message}`);
      throw error;
    }
  }
}

const takesNoWrites = "the server is read-only, as a replica is: connect to the primary server";

/** Decides; an error of the rules names the resources. */
function decideOn<Reply>(view: View, resources: readonly string[], decide: (view: View) => Outcome<Reply>) {
  try {
    return decide(view);
  } catch (error) {
    if (error instanceof RangeError) throw new RangeError(`${error.message}: ${resources.join(", ")}`);
    throw error;
  }
}

/** Reads the first columns of the statement `look`. */
function entryOf(resource: string, name: Buffer, row: Row): NamedEntry {
  const [owner, until, fence, sharers, favoursUntil, version, rows] = row;
  return {
    resource,
    name,
    owner: owner ? textOf(owner) : null,
    untilUs: Number(until),
    fence: Number(fence),
    sharers: sharers ? JSON.parse(String(sharers)) : null,
    favoursUntilUs: Number(favoursUntil),
    version: Number(version),
    rows: Number(rows),
  };
}
