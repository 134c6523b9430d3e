import { assertOptions, checkInteger, checkType, wrong } from "./arguments.ts";
import { type Attempt, type AttemptFailed, type AttemptTerms, attempt, notSent, tooLate } from "./attempt.ts";
import { Claim } from "./claim.ts";
import type { RedlockContext } from "./context.ts";
import {
  ConfigurationError,
  failureDetails,
  LockHeldError,
  QuorumUnreachableError,
  TicketSpentError,
} from "./errors.ts";
import { elapsedMs, readClocks, validityMs } from "./lease.ts";
import type { TransferOptions } from "./lock.ts";
import { type AdoptOptions, checkTtl, lockOptionNames, parseResources, type Settings } from "./options.ts";
import { Pause, retryDelay } from "./pause.ts";
import { noVotes, type Quorum, type Tally, verdict } from "./votes.ts";

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
  /** Signs the claim between the two takeovers. */
  readonly owner: string;
  readonly resources: readonly string[];
  /** The fencing token of that claim. */
  readonly fence: number;
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
 * @throws {TypeError | RangeError} for unknown or bad options, and for a shared lock
 */
export function parseTransfer(
  { mode, ttlMs, nodeTimeoutMs, driftFactor }: Settings,
  options: TransferOptions | undefined = {},
): number {
  assertOptions(options, ["withinMs"], "a transfer");
  if (mode === "shared") throw new TypeError("a shared lock cannot be transferred: only an exclusive one can");
  const { withinMs = ttlMs } = options;
  checkTtl(withinMs, driftFactor, "withinMs");
  if (validityMs(withinMs, driftFactor) <= nodeTimeoutMs) {
    throw wrong("withinMs", `above nodeTimeoutMs, ${nodeTimeoutMs}, and the allowance for clock drift`, withinMs);
  }
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
  const leftMs = remainingMs();
  const terms = {
    resources,
    wanted: resources,
    settings: {
      ...settings,
      ttlMs: withinMs,
      validityMs: validityMs(withinMs, settings.driftFactor),
      nodeTimeoutMs: Math.min(settings.nodeTimeoutMs, leftMs),
      signal: undefined,
    },
    predecessor: claim,
    waiter: undefined,
    outlivesClose: true,
  };
  const take = () => attempt(quietly(context), terms, readClocks(clock));
  let result = (await limit.run(take, { isUrgent: true, patienceMs: leftMs })) ?? notSent(leftMs);
  if (result.outcome === "acquired") {
    if (remainingMs() > 0) return formatTicket({ owner: result.claim.owner, resources, fence: result.fence });
    result.claim.withdraw({}); // another lock may have been granted in between
    const remark = "its validity ended before the nodes replied";
    result = { outcome: "unreachable", votes: noVotes, tookMs: leftMs, remark };
  }
  claim.withdraw({});
  return result;
}

/**
 * Adopts a ticket in three steps, each with a quorum: claims the guard, asks for the claim, and takes it over. All of them
 * must settle while the guard is valid, because the next adopter may begin afterwards.
 *
 * @param closed aborts when the `Redlock` is closed
 */
export async function adoptTicket(
  context: RedlockContext,
  ticket: Ticket,
  terms: AttemptTerms,
  closed: AbortSignal,
): Promise<Attempt> {
  const { settings } = terms;
  const { ttlMs, quorum } = settings;
  const guard = await claimGuard(context, ticket, settings, closed);
  if (guard.outcome !== "acquired") {
    return withError(context, terms, guard, LockHeldError, "another process is adopting the ticket");
  }
  const failed = (failure: AttemptFailed) =>
    withError(context, terms, failure, TicketSpentError, "the ticket has ended");
  const { startedAt } = guard;
  const claim = new Claim(context, ticket.resources, ticket.owner, settings);
  const { votes, verdicts } = await askForClaim(claim, ticket, settings);
  const tookMs = elapsedMs(startedAt, readClocks(context.clock));
  const isLate = tookMs >= settings.validityMs;
  if (isLate || !quorum.isReachedBy(verdicts, verdict.yes)) {
    guard.claim.withdraw();
    const remark = isLate ? tooLate(tookMs, ttlMs) : undefined;
    return failed({ outcome: isSpent(verdicts, quorum) ? "held" : "unreachable", votes, tookMs, remark });
  }
  const result = await attempt(context, { ...terms, predecessor: claim }, startedAt);
  if (result.outcome === "acquired") {
    guard.claim.withdraw();
    return result;
  }
  claim.withdraw({}); // but not the guard: a late takeover may end the ticket
  return failed(result);
}

/** How often an adopter tries to claim the guard while others have it, or have split the votes. */
const guardAttemptsMax = 4;

/** Claims the name that belongs to the ticket, so that nobody else adopts it meanwhile. */
async function claimGuard(
  context: RedlockContext,
  { owner, resources }: Ticket,
  settings: Settings,
  closed: AbortSignal,
): Promise<Attempt> {
  const { clock } = context;
  const { signal } = settings;
  // Half of the random value of the owner: a reader of the name who knew all of it could adopt the ticket.
  const id = owner.slice(owner.lastIndexOf(":") + 1).slice(0, 16);
  const wanted = Object.freeze([`${resources[0]}:ticket:${id}`]);
  const terms = { resources, wanted, settings, predecessor: undefined, waiter: undefined };
  for (let failures = 1; ; failures++) {
    const guard = await attempt(quietly(context), terms, readClocks(clock));
    if (guard.outcome !== "held" || failures === guardAttemptsMax) return guard;
    await new Pause(clock).wait(retryDelay(settings, failures), signal, closed);
    if (signal?.aborted || closed.aborted) return guard;
  }
}

/** Asks the nodes whether they hold the ticket, and to keep it for the ttl of the new lock. */
function askForClaim(claim: Claim, { fence }: Ticket, settings: Settings): Promise<Tally> {
  const { ttlMs, nodeTimeoutMs: timeoutMs, quorum, signal } = settings;
  return claim.extend(
    { ttlMs, fence, rejoin: false, timeoutMs },
    {
      quorum,
      signal,
      endsOnClose: true,
      isYes: ({ kind }) => kind === "held",
      isDecided: ({ verdicts }) => quorum.isReachedBy(verdicts, verdict.yes) || isSpent(verdicts, quorum),
    },
  );
}

/** Whether so many nodes do not hold the ticket that no quorum is left. */
function isSpent(verdicts: Tally["verdicts"], quorum: Quorum): boolean {
  return !quorum.isReachedBy(verdicts, ~verdict.no);
}

/** Adds the error of the adoption: if the nodes refuse it, a `Refused` that says why. */
function withError(
  { nodes }: RedlockContext,
  { resources, settings: { quorum } }: AttemptTerms,
  failure: AttemptFailed,
  Refused: typeof LockHeldError | typeof TicketSpentError,
  reason: string,
): AttemptFailed {
  const { outcome, votes, remark } = failure;
  const AdoptError = { held: Refused, unreachable: QuorumUnreachableError, misconfigured: ConfigurationError }[outcome];
  const operation = { resources, nodes, quorum };
  const details = failureDetails("adopt", operation, votes, outcome === "held" ? reason : remark);
  return { ...failure, error: new AdoptError(...details) };
}

/** Returns the context without the observer of attempts, which would count these, and show the owner of a ticket. */
function quietly(context: RedlockContext): RedlockContext {
  const { nodeFailed } = context.observer;
  return { ...context, observer: nodeFailed === undefined ? {} : { nodeFailed } };
}

const prefix = "ticket1.";

/** Returns the text of a new ticket: printable ASCII, without characters that a URL or a shell would change. */
function formatTicket({ owner, resources, fence }: Ticket): string {
  const json = JSON.stringify([owner, resources, fence]);
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
    const base64 = text.slice(prefix.length).replaceAll("-", "+").replaceAll("_", "/");
    const [owner, resources, fence, ...rest] = JSON.parse(atob(base64));
    checkInteger("fence", fence);
    const isTicket = text.startsWith(prefix) && typeof owner === "string" && owner !== "" && rest.length === 0;
    if (isTicket) return { owner, resources: parseResources(resources), fence };
  } catch {
    // Whatever is wrong with it, the error says the same.
  }
  throw new RangeError("ticket must be a text that lock.transfer() returned: this one is incomplete, or another text");
}

/** @throws {TypeError} for unknown options */
export function assertAdoption(options: AdoptOptions): void {
  const names = lockOptionNames.filter((name) => name !== "mode" && name !== "waitTimeoutMs");
  assertOptions(options, names, "an adoption");
}
