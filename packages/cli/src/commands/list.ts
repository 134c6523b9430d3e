import type { Inspection } from "@holdfast/core";
import type { NodeView } from "@holdfast/core/node";
import { type Command, serverCommand } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { reasonOf, withUsageErrors } from "../failures.ts";
import { holderOf, inspectionRecord, ownersOn, timeOf } from "../inspect/inspection-report.ts";
import { duration, integerFrom, json, withDefault, word } from "../options/option.ts";
import { listed, longMs } from "../output/format.ts";
import { colors, print, printable, printMessage } from "../output/print.ts";
import { table } from "../output/table.ts";
import { type LockService, withLockService } from "../servers/lock-service.ts";
import type { Server } from "../servers/server.ts";
import { haveQuorum, setsOf } from "../servers/sets.ts";
import { within } from "../within.ts";

const titles = ["resource", "held by", "remaining", "fence", "servers"];
/** The number of resources to inspect concurrently. */
const inspectionsMax = 100;

/** `holdfast list`: lists all locks with a prefix and their holders. */
export const listCommand: Command = serverCommand(
  {
    line: "list [pattern]",
    describe: "List the locks on the servers and their holders",
    text:
      "Lists the locks on the servers and their holders. Redis servers are searched by SCAN, which\n" +
      "does not block them; the user needs the permission +scan.",
    memory: "search",
    words: { pattern: word("A glob for resources, such as 'invoice:*' (default: all)", "*") },
    options: {
      limit: withDefault("1000", integerFrom(1, 100_000), "The most locks to list"),
      timeout: duration("10s", "Timeout of the search on each server"),
      json,
    },
  },
  async ({ pattern, limit, timeout: searchTimeoutMs, json }, servers) =>
    withLockService(servers, {}, async (service) => {
      const options = { pattern, limit, searchTimeoutMs, nodeTimeoutMs: service.nodeTimeoutMs };
      const found = await findResources(service.servers, options);
      const locks = await inspectAll(service, found.resources);
      if (json) print(listJson(locks, found, service.servers));
      else if (locks.length > 0) print(table(titles, locks.map(rowOf)));
      return explain(found, locks, options, service);
    }),
);

/** Inspects resources. Those that a majority reports as released in the meantime are left out. */
async function inspectAll(
  { redlock, joint }: LockService,
  resources: readonly string[],
): Promise<readonly Inspection[]> {
  const inspections: Inspection[] = [];
  for (let start = 0; start < resources.length; start += inspectionsMax) {
    const batch = resources.slice(start, start + inspectionsMax);
    inspections.push(...(await Promise.all(batch.map((resource) => withUsageErrors(() => redlock.inspect(resource))))));
  }
  return inspections.filter((inspection) => {
    const haveAnswered = haveQuorum(setsOf(inspection.nodes, joint), ({ view }) => view !== null);
    return claimsOf(inspection).length > 0 || !haveAnswered;
  });
}

/** Prints to standard error what the list does not show, and returns the exit code. */
function explain(
  { isCut, searches }: SearchResult,
  locks: readonly Inspection[],
  { pattern, limit }: SearchOptions,
  { servers, joint }: LockService,
): number {
  const failed = searches.flatMap(({ node, error }) => (error === null ? [] : [`${node}: ${reasonOf(error)}`]));
  const searched = servers.length - failed.length;
  const isWhole = haveQuorum(setsOf(searches, joint), ({ error }) => error === null);
  if (failed.length > 0) {
    const loss = isWhole ? "every lock that a majority holds is listed" : "locks may be missing";
    printMessage(`searched ${searched} of ${servers.length} servers completely: ${loss}`, failed);
  }
  const unknown = locks.filter((lock) => stateOf(lock) === "unknown").length;
  if (unknown > 0)
    printMessage(`too few servers answered about ${unknown} of ${locks.length} locks: inspect one of them`);
  const advice = "narrow the search with a pattern, or raise --limit";
  if (isCut) printMessage(`only ${limit} locks are listed, and there are more: ${advice}`);
  if (isWhole && locks.length === 0) {
    const searchedFor = new Set(servers.map(({ prefix }) => (prefix ?? "") + pattern));
    printMessage(`no locks match ${printable(listed([...searchedFor]))}`);
  }
  return isWhole && unknown === 0 ? exitCodes.ok : exitCodes.noQuorum;
}

/** The combined result of all servers. */
export interface SearchResult {
  /** The resources that are locked on at least one server, sorted, up to the limit. */
  readonly resources: readonly string[];
  /** Whether there are more resources than the limit. */
  readonly isCut: boolean;
  /** The search of each server, in the given order. */
  readonly searches: readonly NamedSearch[];
}

/** The search of one server. */
export interface NamedSearch {
  readonly node: string;
  readonly resources: ReadonlySet<string>;
  /** The reason why the search is incomplete, or null. */
  readonly error: Error | null;
}

/** What to search for. */
export interface SearchOptions {
  /** A glob for resources, in the syntax of Redis. */
  readonly pattern: string;
  /** The search may end after more resources than this. */
  readonly limit: number;
  /** The timeout of the whole search, in milliseconds. */
  readonly searchTimeoutMs: number;
  /** The timeout of each reply, in milliseconds. */
  readonly nodeTimeoutMs: number;
}

/** Searches all servers concurrently. Always ends, whatever the servers do. */
export async function findResources(servers: readonly Server[], options: SearchOptions): Promise<SearchResult> {
  const searches = await Promise.all(servers.map((server) => search(server, options)));
  const all = [...new Set(searches.flatMap(({ resources }) => [...resources]))].sort();
  return { resources: all.slice(0, options.limit), isCut: all.length > options.limit, searches };
}

async function search(
  server: Server,
  { pattern, limit, searchTimeoutMs, nodeTimeoutMs }: SearchOptions,
): Promise<NamedSearch> {
  const resources = new Set<string>();
  const late = `the search took longer than ${longMs(searchTimeoutMs)}`;
  const deadlineMs = performance.now() + searchTimeoutMs;
  const read = async (): Promise<void> => {
    for await (const resource of server.list(pattern, nodeTimeoutMs)) {
      if (performance.now() > deadlineMs) throw new Error(late);
      resources.add(resource);
      // One more than the limit shows that there are more.
      if (resources.size > limit) return;
    }
  };
  const found = { node: server.name, resources };
  return within(searchTimeoutMs, read(), late).then(
    () => ({ ...found, error: null }),
    (error: Error) => ({ ...found, error }),
  );
}

/**
 * The longest holder to show in full. Longer ones are not owners of Holdfast: with an empty prefix, any string on a
 * server is listed.
 */
const holderLengthMax = 100;

/**
 * Returns the report for programs. Keys may be added, but existing ones do not change.
 *
 * @returns one line of JSON
 */
function listJson(locks: readonly Inspection[], { isCut, searches }: SearchResult, servers: readonly Server[]): string {
  return JSON.stringify({
    locks: locks.map((lock) => ({ ...inspectionRecord(lock, servers), state: stateOf(lock) })),
    truncated: isCut,
    servers: searches.map(({ node, error }) => ({ node, error: error === null ? null : reasonOf(error) })),
  });
}

/**
 * Returns the state of a listed key: `partly` if servers keep claims but no owner has a majority, so that another owner
 * may still get the lock; `unknown` if too few servers replied to tell.
 */
function stateOf(lock: Inspection): "held" | "partly" | "unknown" {
  if (lock.state !== "free") return lock.state;
  return claimsOf(lock).length > 0 ? "partly" : "unknown";
}

/** Returns the claims that servers keep, whether or not an owner has a majority. */
function claimsOf({ nodes }: Inspection): readonly NodeView[] {
  return nodes.flatMap(({ view }) => (view === null || view.owner === null ? [] : [view]));
}

function rowOf(lock: Inspection): string[] {
  const claims = claimsOf(lock);
  const agreement = (count: number): string => `${count} of ${lock.nodes.length}${remarkOn(lock)}`;
  if (claims.length === 0) return [printable(lock.resource), "unknown", "", "", agreement(0)];
  const isHeld = lock.state === "held";
  const owners = isHeld ? [holderOf(lock)] : [...new Set(claims.flatMap(ownersOn).map(printable))];
  const longestMs = Math.max(...claims.map(({ remainingMs }) => remainingMs ?? Infinity));
  const agreeing = isHeld ? claims.filter((claim) => ownersOn(claim).includes(lock.owner ?? "")) : claims;
  return [
    printable(lock.resource),
    owners.map(shortened).join(", "),
    timeOf(isHeld ? lock.remainingMs : longestMs),
    String(lock.fence),
    agreement(agreeing.length),
  ];
}

function remarkOn(lock: Inspection): string {
  const state = stateOf(lock);
  if (state === "held") return "";
  return colors.yellow(state === "partly" ? ", no majority" : ", too few answered");
}

function shortened(holder: string): string {
  return holder.length <= holderLengthMax ? holder : `${holder.slice(0, holderLengthMax - 3)}...`;
}
