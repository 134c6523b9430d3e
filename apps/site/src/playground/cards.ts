/** What the cards of a picture say. Screen readers are told the same. */
import type { ClientMoment, ClockMoment, LockMoment, Moment, NodeMoment, StorageMoment } from "./moment.ts";
import { capitalized, counted, listed, ms, storageNames } from "./words.ts";

/** The words on the card of a client: what it believes, beside the truth. */
export interface ClientWords {
  readonly state: "runs" | "paused" | "crashed";
  readonly believes: string;
  readonly truth: string;
  /** Whether it is right to believe that it has a lock; undefined if it believes no such thing. */
  readonly verdict: string | undefined;
  /** Whether it is wrong: too few nodes keep its claim, or another client has the lock, too. */
  readonly isWrong: boolean;
  /** Its lock that the card is about: one that it has lost, if there is one. */
  readonly lock: LockMoment | undefined;
}

/** Returns the words on the card of a client. */
export function clientWords(client: ClientMoment, { nodes }: Moment): ClientWords {
  const { name, pausedUntilMs, locks, unread } = client;
  const wrong = locks.find(({ hasMajority, rivals }) => !hasMajority || rivals.length > 0);
  const lock = wrong ?? locks[0];
  const claimed = nodes.filter(({ claims }) => claims.some((claim) => claim.client === name)).length;
  const kept = lock?.nodes.length ?? claimed;
  const claim = lock === undefined && kept === 0 ? "no claim" : `claim on ${kept} of ${nodes.length} nodes`;
  return {
    state: client.state === "crashed" ? "crashed" : pausedUntilMs === undefined ? "runs" : "paused",
    believes: beliefOf(client, lock),
    truth: `${claim}${unread === 0 ? "" : `; ${counted(unread, "unread message")}`}`,
    verdict: lock && verdictOf(lock),
    isWrong: wrong !== undefined,
    lock,
  };
}

function beliefOf({ locks, state, waitsFor }: ClientMoment, lock: LockMoment | undefined): string {
  if (state === "crashed") return "nothing";
  if (lock === undefined) return waitsFor.length === 0 ? "has no lock" : `waits for ${waitsFor.join(", ")}`;
  const { remainingMs, fence, mode } = lock;
  const more = locks.length === 1 ? "" : `, and ${locks.length - 1} more`;
  return `holds${mode === "shared" ? " a shared lock" : ""}, token ${fence}, ${Math.round(remainingMs)} ms left${more}`;
}

function verdictOf({ hasMajority, rivals }: LockMoment): string {
  if (!hasMajority) return "Wrong: the lock is lost";
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
      const { state, believes, truth, verdict = "" } = clientWords(client, moment);
      const who = [capitalized(client.name), state, clockOf(client)].filter(Boolean).join(", ");
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
