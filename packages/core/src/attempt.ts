import { Claim, freshOwner } from "./claim.ts";
import type { RedlockContext } from "./context.ts";
import {
  ConfigurationError,
  failureDetails,
  type HoldfastError,
  LockHeldError,
  QuorumUnreachableError,
  WaitTimeoutError,
} from "./errors.ts";
import { agreeOnFence, type HighestFence, highestFence } from "./fence.ts";
import { elapsedMs, type Moment, readClocks, validityMs } from "./lease.ts";
import type { LockNode } from "./lock-node.ts";
import type { Settings } from "./options.ts";
import { isCertain, noVotes, type Tally } from "./quorum-call.ts";
import type { Vote } from "./replies.ts";

/** What an attempt asks for. */
export interface AttemptTerms {
  /** What the call is for: the resources that events name. */
  readonly resources: readonly string[];
  /** What this attempt asks for: all of the resources, or the first of them. */
  readonly wanted: readonly string[];
  readonly settings: Settings;
  /** A claim of this process that the attempt may take over. */
  readonly predecessor: Claim | undefined;
  /** The name to stand under in the nodes' waiting lists, if the call goes on waiting. */
  readonly waiter: string | undefined;
}

/** The outcome of an attempt. */
export type Attempt = AttemptWon | AttemptFailed;

/** A quorum granted, agreed on the token, and left some validity. */
export interface AttemptWon {
  readonly outcome: "acquired";
  readonly claim: Claim;
  readonly fence: number;
  /** The moment just before the first request was sent: the validity counts from it (S2). */
  readonly startedAt: Moment;
  /** The moment at which it became a lock. */
  readonly settledAt: Moment;
}

/**
 * Another owner was in the way; or too few nodes answered, they did not agree, or it took too long; or a node said that
 * trying again is of no use.
 */
export interface AttemptFailed {
  readonly outcome: "held" | "unreachable" | "misconfigured";
  readonly votes: Tally["votes"];
  /** How long the attempt took, in milliseconds. */
  readonly tookMs: number;
  /** What was in the way, where the votes do not show it. */
  readonly remark?: string | undefined;
}

/**
 * Makes one attempt under an owner of its own. A failed one is undone on all nodes, also those that have not answered
 * yet (S4).
 *
 * @param context the nodes
 * @param terms what is asked for
 * @param startedAt now: nothing may come between this moment and the call (S2)
 */
export function attempt(context: RedlockContext, terms: AttemptTerms, startedAt: Moment): Promise<Attempt> {
  const { resources, wanted, settings, predecessor, waiter } = terms;
  const { ttlMs, nodeTimeoutMs: timeoutMs, quorum, signal, label } = settings;
  const claim = new Claim(context, wanted, freshOwner(label), timeoutMs, resources);
  const fenceHint = context.fenceHint.next(startedAt.wallMs);
  const { firstLock, openCalls } = context;
  const isDecided = (tally: Tally) => {
    if (tally.misconfigured > 0) return true;
    if (!isCertain(tally, quorum)) return false;
    if (tally.yes < quorum || tally.missing === 0 || !firstLock.isAwaited) return true;
    firstLock.startTimer(settings);
    return false;
  };
  const rule = { timeoutMs, signal, openCalls, isYes: isGrant, isDecided };
  // Not `async`: each attempt that needs no second round would pay for it.
  return claim.acquire({ ttlMs, fenceHint, predecessor, waiter }, rule).then((tally) => {
    const token = highestFence(tally.votes);
    if (tally.yes < quorum || token.agreed >= quorum) {
      return settleAttempt(context, terms, startedAt, claim, tally, token);
    }
    const raising = raiseFences(context, claim, settings, tally.votes, startedAt);
    return raising.then((raised) => settleAttempt(context, terms, startedAt, claim, tally, raised));
  });
}

/** Settles the outcome of an attempt, and undoes it on all nodes unless it was won (S4). */
function settleAttempt(
  context: RedlockContext,
  { resources, wanted, settings, predecessor }: AttemptTerms,
  startedAt: Moment,
  claim: Claim,
  tally: Tally,
  token: HighestFence,
): Attempt {
  const { clock, observer, fenceHint } = context;
  const { ttlMs, driftFactor, quorum } = settings;
  let outcome = outcomeOf(tally, quorum, context.firstLock.isAwaited);
  const settledAt = readClocks(clock);
  const tookMs = elapsedMs(startedAt, settledAt);
  let remark: string | undefined;
  if (outcome === "acquired") {
    fenceHint.saw(token.fence);
    if (token.agreed < quorum) remark = "the nodes did not agree on a fencing token in time";
    else if (tookMs >= validityMs(ttlMs, driftFactor)) {
      remark = `the quorum came too late, ${Math.round(tookMs)} ms after a ttl of ${ttlMs} ms began`;
    }
    if (remark !== undefined) outcome = "unreachable";
  }
  // Where it took over, the release ends a lock: it must not be silent.
  if (outcome === "acquired") {
    claim.replacePredecessor();
    if (context.firstLock.isAwaited) context.firstLock.end();
  } else claim.withdraw(predecessor && {});
  const isPart = outcome === "acquired" && wanted.length < resources.length;
  observer.attemptSettled?.({
    resources,
    owner: claim.owner,
    outcome: isPart ? "collected" : outcome,
    elapsedMs: tookMs,
  });
  if (outcome === "acquired") return { outcome, claim, fence: token.fence, startedAt, settledAt };
  return { outcome, votes: tally.votes, tookMs, remark };
}

function isGrant({ kind }: Vote): boolean {
  return kind === "granted";
}

/**
 * If a quorum of nodes did answer, or still might have, another owner was in the way.
 *
 * @param isFirstLock whether no lock was granted yet: none is, if a node says that this can never work
 */
function outcomeOf(
  { yes, no, missing, misconfigured }: Tally,
  quorum: number,
  isFirstLock: boolean,
): Attempt["outcome"] {
  if (yes >= quorum && !(isFirstLock && misconfigured > 0)) return "acquired";
  if (misconfigured > 0) return "misconfigured";
  return no > 0 && yes + no + missing >= quorum ? "held" : "unreachable";
}

/** All proposals together have no longer than the vote had, and than the validity lasts. */
function raiseFences(
  { nodes, clock }: RedlockContext,
  claim: Claim,
  { ttlMs, driftFactor, nodeTimeoutMs, quorum, signal }: Settings,
  votes: Tally["votes"],
  startedAt: Moment,
): Promise<HighestFence> {
  const validLeftMs = validityMs(ttlMs, driftFactor) - elapsedMs(startedAt, readClocks(clock));
  return agreeOnFence(votes, {
    clock,
    quorum,
    signal,
    timeoutMs: Math.min(nodeTimeoutMs, validLeftMs),
    raise: (indices, fence, rule) => {
      const asked = indices.map((index) => nodes[index] as LockNode);
      return claim.extend(asked, { ttlMs, fence, rejoin: false }, rule);
    },
  });
}

/** When the claims in the way end, in milliseconds, where the nodes know it. */
export function retryAfterMs({ outcome, votes }: AttemptFailed): number | undefined {
  if (outcome !== "held") return undefined;
  return Math.max(...votes.map((vote) => vote?.retryAfterMs ?? 0)) || undefined;
}

/** What an error about a call to acquire needs to know of it. */
export interface FailedCall {
  readonly resources: readonly string[];
  readonly settings: Settings;
  /** How many attempts it made. */
  readonly attempts: number;
}

/**
 * The error for a call that ends without a lock.
 *
 * @param failure its last attempt, if it made one
 * @param hasWaited whether it has waited for all of `waitTimeoutMs`
 * @param heldHere one of its resources that this process itself holds, if there is one
 */
export function attemptError(
  { nodes }: RedlockContext,
  { resources, settings: { quorum, waitTimeoutMs }, attempts }: FailedCall,
  failure: AttemptFailed | undefined,
  hasWaited: boolean,
  heldHere: string | undefined,
): HoldfastError {
  const operation = { resources, nodes, quorum };
  const ownLock =
    heldHere !== undefined &&
    `this process itself holds ${heldHere} (a call nested in another one for the same name waits for itself)`;
  if (failure === undefined) {
    const remark = `waited ${waitTimeoutMs} ms${ownLock ? `; ${ownLock}` : " behind others in this process"}`;
    return new WaitTimeoutError(...failureDetails("lock", operation, noVotes, remark));
  }
  const { outcome, votes, remark } = failure;
  const remarks = [
    hasWaited && `made ${attempts} attempts in ${waitTimeoutMs} ms`,
    outcome === "held" ? ownLock || describeHolder(votes) : remark,
  ];
  const details = failureDetails("lock", operation, votes, remarks.filter(Boolean).join("; "));
  if (outcome === "misconfigured") return new ConfigurationError(...details);
  if (outcome === "unreachable") return new QuorumUnreachableError(...details);
  return hasWaited ? new WaitTimeoutError(...details) : new LockHeldError(...details);
}

/** Names the holder if all nodes that denied name the same one, and they are more than those that granted. */
function describeHolder(votes: Tally["votes"]): string {
  const denials = votes.filter((vote) => vote?.kind === "denied");
  const grants = votes.filter((vote) => vote?.kind === "granted");
  const labels = new Set(denials.map((vote) => vote?.holderLabel));
  const [label] = labels;
  if (label !== undefined && labels.size === 1 && denials.length > grants.length) return `${label} holds it`;
  if (labels.size > 1) return "several owners are in the way";
  if (votes.some((vote) => vote?.retryAfterMs === Infinity)) return "a foreign program keeps a key without an end";
  return "another owner is in the way";
}
