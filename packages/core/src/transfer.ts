import { assertOptions, checkInteger, checkType, wrong } from "./arguments.ts";
import { type Attempt, type AttemptFailed, type AttemptTerms, attempt, notSent } from "./attempt.ts";
import { Claim, freshOwner } from "./claim.ts";
import type { RedlockContext } from "./context.ts";
import { ConfigurationError, failureDetails, QuorumUnreachableError, TicketSpentError } from "./errors.ts";
import { driftMs, elapsedMs, readClocks, validityMs } from "./lease.ts";
import type { TransferOptions } from "./lock.ts";
import { verdict } from "./node-sets.ts";
import { type AdoptOptions, parseResources, type Settings } from "./options.ts";
import { isCertain, noVotes, type Tally } from "./quorum-call.ts";
import type { Vote } from "./replies.ts";

/*
 * A lock passes to another process in two takeovers: its holder transfers it to the owner of a ticket, and the other
 * process adopts it from there. Between them, nobody relies on the claim, and only the ticket knows its owner.
 *
 * A takeover also replaces a claim that has ended, so it cannot tell a late ticket, or one that was adopted before. An
 * adoption therefore claims the guard of the ticket first, and asks whether the nodes hold the ticket. `spec/README.md`
 * says why that is enough, and decision 035 what else was considered.
 */

/** The content of a ticket. */
export interface Ticket {
  /** Names the guard. */
  readonly id: string;
  /** Signs the claim between the two takeovers. */
  readonly owner: string;
  readonly resources: readonly string[];
  readonly mode: Settings["mode"];
  /** The fencing token of that claim. */
  readonly fence: number;
  /** For how long the nodes keep that claim, in milliseconds. */
  readonly withinMs: number;
}

/** The lock that a holder transfers. */
export interface Transfer {
  readonly resources: readonly string[];
  readonly settings: Settings;
  readonly claim: Claim;
  readonly withinMs: number;
  /** Returns how long the lock could be relied on from now, in milliseconds. */
  remainingMs(): number;
}

/**
 * Returns how long a ticket can be adopted, in milliseconds.
 *
 * @throws {TypeError | RangeError} for unknown or bad options
 */
export function parseTransfer({ ttlMs, nodeTimeoutMs }: Settings, options: TransferOptions | undefined = {}): number {
  assertOptions(options, ["withinMs"], "a transfer");
  const { withinMs = ttlMs } = options;
  checkInteger("withinMs", withinMs);
  if (withinMs <= nodeTimeoutMs) throw wrong("withinMs", `above nodeTimeoutMs, ${nodeTimeoutMs}`, withinMs);
  return withinMs;
}

/**
 * Takes the claim of a lock over to a fresh owner, which the ticket names.
 *
 * @returns the ticket, or why there is none; both owners are released then
 */
export async function transferClaim(context: RedlockContext, transfer: Transfer): Promise<string | AttemptFailed> {
  const { clock, limit } = context;
  const { resources, settings, claim, withinMs, remainingMs } = transfer;
  const { mode, driftFactor } = settings;
  const leftMs = remainingMs();
  const terms = {
    resources,
    wanted: resources,
    settings: {
      ...settings,
      ttlMs: withinMs,
      validityMs: validityMs(withinMs, driftFactor),
      nodeTimeoutMs: Math.min(settings.nodeTimeoutMs, leftMs),
      signal: undefined,
    },
    predecessor: claim,
    waiter: undefined,
  };
  const take = () => attempt(quietly(context), terms, readClocks(clock));
  let result = (await limit.run(take, { isUrgent: true, patienceMs: () => leftMs })) ?? notSent(leftMs);
  if (result.outcome === "acquired") {
    const { owner } = result.claim;
    if (remainingMs() > 0) return formatTicket({ owner, resources, mode, fence: result.fence, withinMs });
    result.claim.withdraw({}); // another lock may have been granted in between
    const remark = "its validity ended before the nodes replied";
    result = { outcome: "unreachable", votes: noVotes, tookMs: leftMs, remark };
  }
  claim.withdraw({});
  return result;
}

/** Adopts a ticket in three steps, each with a quorum: claims the guard, asks for the claim, and takes it over. */
export async function adoptTicket(context: RedlockContext, ticket: Ticket, terms: AttemptTerms): Promise<Attempt> {
  const { clock } = context;
  const { settings } = terms;
  const guard = await attempt(quietly(context), guardTerms(ticket, settings), readClocks(clock));
  const failed = (failure: AttemptFailed, ended = "the ticket has ended"): AttemptFailed => {
    return { ...failure, error: adoptError(context, terms, failure, ended) };
  };
  if (guard.outcome !== "acquired") return failed(guard, "another process has adopted the ticket, or is about to");
  const startedAt = readClocks(clock);
  const claim = new Claim(context, ticket.resources, ticket.owner, settings);
  const { votes, verdicts } = await askForClaim(claim, ticket, settings);
  if (!settings.quorum.isReachedBy(verdicts, verdict.yes)) {
    guard.claim.withdraw();
    return failed({ outcome: "unreachable", votes, tookMs: elapsedMs(startedAt, readClocks(clock)) });
  }
  const result = await attempt(context, { ...terms, predecessor: claim }, startedAt);
  if (result.outcome === "acquired") return result;
  claim.withdraw({}); // but not the guard: a late takeover may end the ticket
  return failed(result);
}

/** The guard outlives the ticket, which {@link askForClaim} may extend by the ttl of the new lock. */
function guardTerms({ id, resources, withinMs }: Ticket, settings: Settings): AttemptTerms {
  const atMostMs = withinMs + settings.ttlMs;
  const ttlMs = Math.ceil(atMostMs + driftMs(atMostMs, settings.driftFactor));
  const names = Object.freeze([`${resources[0]}:ticket:${id}`]);
  return {
    resources: names,
    wanted: names,
    settings: { ...settings, mode: "exclusive", ttlMs },
    predecessor: undefined,
    waiter: undefined,
  };
}

/** Asks the nodes whether they hold the ticket, and to keep it for the ttl of the new lock. */
function askForClaim(claim: Claim, { fence }: Ticket, settings: Settings): Promise<Tally> {
  const { ttlMs, nodeTimeoutMs: timeoutMs, quorum, signal } = settings;
  return claim.extend(
    { ttlMs, fence, rejoin: false },
    {
      timeoutMs,
      signal,
      endsOnClose: true,
      isYes: ({ kind }) => kind === "held",
      isDecided: (tally) => isCertain(tally, quorum),
    },
  );
}

/** Creates the error of an adoption. `ended` is the reason if so many nodes refuse that no quorum is left. */
function adoptError(
  { nodes }: RedlockContext,
  { resources, settings: { quorum } }: AttemptTerms,
  { outcome, votes, remark }: AttemptFailed,
  ended: string,
): ConfigurationError | QuorumUnreachableError | TicketSpentError {
  const isRefusal = (vote: Vote | undefined): boolean => vote?.kind === "denied" || vote?.kind === "not-held";
  const others = votes.map((vote) => (isRefusal(vote) ? verdict.no : verdict.yes));
  const isSpent = !quorum.isReachedBy(others, verdict.yes);
  const details = failureDetails("adopt", { resources, nodes, quorum }, votes, isSpent ? ended : remark);
  if (outcome === "misconfigured") return new ConfigurationError(...details);
  return isSpent ? new TicketSpentError(...details) : new QuorumUnreachableError(...details);
}

/** The same without an observer of attempts, which would count these, and show the owner of a ticket. */
function quietly(context: RedlockContext): RedlockContext {
  const { nodeFailed } = context.observer;
  return { ...context, observer: nodeFailed === undefined ? {} : { nodeFailed } };
}

const prefix = "ticket1.";

/** Returns the text of a new ticket: printable ASCII, without characters that a URL or a shell would change. */
function formatTicket({ owner, resources, mode, fence, withinMs }: Omit<Ticket, "id">): string {
  const json = JSON.stringify([freshOwner(), owner, resources, mode, fence, withinMs]);
  const ascii = json.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return prefix + btoa(ascii).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/**
 * Reads a ticket.
 *
 * @throws {TypeError | RangeError} if it is none. The message does not show it, as a reader could adopt the lock
 */
export function parseTicket(text: string): Ticket {
  checkType("ticket", "string", text);
  try {
    if (!text.startsWith(prefix)) throw malformed();
    const base64 = text.slice(prefix.length).replaceAll("-", "+").replaceAll("_", "/");
    const [id, owner, resources, mode, fence, withinMs, ...rest] = JSON.parse(atob(base64));
    for (const name of [id, owner]) if (typeof name !== "string" || name === "") throw malformed();
    if ((mode !== "exclusive" && mode !== "shared") || rest.length > 0) throw malformed();
    checkInteger("fence", fence);
    checkInteger("withinMs", withinMs);
    return { id, owner, resources: parseResources(resources), mode, fence, withinMs };
  } catch {
    throw malformed();
  }
}

function malformed(): RangeError {
  return new RangeError("ticket must be a text that lock.transfer() returned: this one is incomplete, or was changed");
}

const adoptOptionNames: readonly (keyof AdoptOptions)[] = [
  "ttlMs",
  "signal",
  "label",
  "autoExtend",
  "maxHoldMs",
  "awaitRelease",
];

/** @throws {TypeError} for unknown options */
export function assertAdoption(options: AdoptOptions): void {
  assertOptions(options, adoptOptionNames, "an adoption");
}
