/** What the cards of a picture say. Screen readers are told the same. */
import type { ClientMoment, ClockMoment, LockMoment, Moment, NodeMoment, StorageMoment } from "./moment.ts";
import { capitalized, counted, listed, ms, storageNames } from "./words.ts";

/** The words on the card of a client: what it believes, beside the truth. */
export interface ClientWords {
  readonly believes: string;
  readonly truth: string;
  /** Whether it is right to believe that it has the lock; undefined if it believes no such thing. */
  readonly verdict: string | undefined;
  /** Whether it is wrong: too few nodes keep its claims, or another client has the lock, too. */
  readonly isWrong: boolean;
}

/** Returns the words on the card of a client. */
export function clientWords({ state, waits, lock, claims, unread }: ClientMoment, { nodes }: Moment): ClientWords {
  const claim = lock === undefined && claims === 0 ? "no claim" : `claim on ${claims} of ${nodes.length} nodes`;
  const truth = `${claim}${unread === 0 ? "" : `; ${counted(unread, "unread message")}`}`;
  if (lock === undefined) {
    const believes = state === "crashed" ? "nothing" : waits ? "waits for the lock" : "has no lock";
    return { believes, truth, verdict: undefined, isWrong: false };
  }
  return {
    believes: `holds, token ${lock.fence}, ${Math.round(lock.remainingMs)} ms left`,
    truth,
    verdict: verdictOf(lock),
    isWrong: !lock.isKept || lock.rivals.length > 0,
  };
}

function verdictOf({ isKept, rivals }: LockMoment): string {
  if (!isKept) return "Wrong: the lock is lost";
  const believe = rivals.length === 1 ? "believes" : "believe";
  return rivals.length === 0 ? "Right" : `Not alone: ${listed(rivals)} ${believe} it, too`;
}

/** Returns the state of a node in one or two words. */
export function stateOf({ state }: NodeMoment): string {
  return state === "guarded" ? "no vote" : state;
}

/** Says how wrong a clock is; undefined if that is not worth a word. Clocks of computers drift a little all the time. */
export function clockOf({ clockAheadMs }: ClockMoment): string | undefined {
  if (Math.abs(clockAheadMs) < 1) return undefined;
  return `${ms(Math.abs(clockAheadMs))} ${clockAheadMs < 0 ? "behind" : "ahead"}`;
}

/** Says what a storage has lost and refused. */
export function lossOf({ lostUpdates, refusals }: StorageMoment): string {
  const lost = lostUpdates === 0 ? "Nothing lost" : `${counted(lostUpdates, "update")} lost`;
  return `${lost}${refusals > 0 ? `, ${refusals} refused` : ""}`;
}

/** Describes a moment in sentences, for a screen reader: all clients, and what is wrong elsewhere. */
export function describeMoment(moment: Moment): string {
  return [
    `At ${Math.round(moment.atMs)} milliseconds.`,
    ...moment.clients.map((client) => {
      const { believes, truth, verdict = "" } = clientWords(client, moment);
      const who = [capitalized(client.name), client.state, clockOf(client)].filter(Boolean).join(", ");
      return `${who}. Believes: ${believes}. Truth: ${truth}.${verdict && ` ${verdict}.`}`;
    }),
    ...moment.nodes
      .filter((node) => node.state !== "up" || clockOf(node) !== undefined)
      .map((node) => `${[`Node ${node.name}`, stateOf(node), clockOf(node)].filter(Boolean).join(", ")}.`),
    ...moment.storages
      .filter(({ lostUpdates }) => lostUpdates > 0)
      .map((storage) => `${storageNames[storage.kind]}: ${lossOf(storage)}.`),
  ].join(" ");
}
