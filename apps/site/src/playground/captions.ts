/** A run in sentences: what happens at each moment, and why it matters. */
import type { AccessTrace, LeaseTrace, OutageTrace, StorageKind, Trace } from "@holdfast/simulation";
import { isDuring, neededOf } from "./truth.ts";
import { capitalized, listed, ms, storagePlaces, storagesToShow } from "./words.ts";

/** A sentence that holds from a moment until the next one. */
export interface Caption {
  /** From when, in milliseconds. */
  readonly fromMs: number;
  /** The sentence. `{left}` stands for the time until `untilMs`. */
  readonly text: string;
  /** What it counts down to, in milliseconds. */
  readonly untilMs?: number | undefined;
}

/** Returns a caption as it reads at a moment. */
export function captionText({ text, untilMs = 0 }: Caption, atMs: number): string {
  return text.replace("{left}", ms(Math.max(0, Math.ceil(untilMs - atMs))));
}

/** Returns the sentences of a run after its start, the earliest first. Each client's routine is told once. */
export function captionsOf(trace: Trace): readonly Caption[] {
  const captions = [
    ...calls(trace),
    ...failures(trace),
    ...lostReplies(trace),
    ...leases(trace),
    ...expiries(trace),
    ...pauses(trace),
    ...writes(trace),
    ...trace.outages.flatMap((each) => outage(each, trace)),
    ...clocks(trace),
    ...cuts(trace),
    ...deaths(trace),
  ].filter(({ fromMs }) => fromMs > 0 && fromMs < trace.endedAtMs);
  const sorted = captions.sort((a, b) => a.fromMs - b.fromMs);
  // Of two sentences of one moment, the one that is listed later says more.
  return sorted.filter(({ fromMs }, index) => fromMs !== sorted[index + 1]?.fromMs);
}

function firstOfEach<T extends { readonly client: string }>(items: readonly T[]): readonly T[] {
  return items.filter(({ client }, index) => items.findIndex((other) => other.client === client) === index);
}

/** Returns when a lock ends by its client's clocks, as the client knows it at a moment. */
function validUntilMs({ validity }: LeaseTrace, atMs: number): number {
  return validity.findLast((each) => each.atMs <= atMs)?.untilMs ?? atMs;
}

function calls(trace: Trace): Caption[] {
  return firstOfEach(trace.calls).map(({ client, fromMs }) => {
    const holder = trace.leases.find((lease) => lease.client !== client && isDuring(lease, fromMs));
    const text =
      holder === undefined
        ? `${capitalized(client)} asks ${trace.nodes.length} nodes for the lock. It needs ${neededOf(trace)}.`
        : `${capitalized(client)} wants the lock that ${holder.client} has.`;
    return { fromMs, text };
  });
}

function leases({ leases: all }: Trace): Caption[] {
  return all.map(({ client, fence, fromMs }, index) => {
    const isShared = all.some((other) => other.client !== client && isDuring(other, fromMs));
    const isHigher = all.slice(0, index).every((other) => other.fence < fence);
    const who = capitalized(client);
    if (isShared) return { fromMs, text: `${who} gets the lock, too, with token ${fence}.` };
    const token = index > 0 && isHigher ? `a higher token: ${fence}` : `token ${fence}`;
    return { fromMs, text: `${who} has the lock, with ${token}.` };
  });
}

/** Locks that their clients have not released when their validity ends. */
function expiries({ leases: all, accesses }: Trace): Caption[] {
  return all.flatMap((lease) => {
    const { client, attempt } = lease;
    const fromMs = lease.validity.at(-1)?.untilMs ?? Infinity;
    if (lease.end === "crashed" || fromMs > lease.untilMs) return [];
    const isWriting = accesses.some(
      (access) => access.attempt === attempt && access.sentAtMs < fromMs && fromMs < access.arrivesAtMs,
    );
    const what = isWriting ? ", and its write is still on its way." : " before it is done.";
    return { fromMs, text: `The lock of ${client} expires${what}` };
  });
}

function pauses({ pauses: all, leases: held }: Trace): Caption[] {
  return all.flatMap(({ client, fromMs, untilMs }) => {
    const who = capitalized(client);
    const lease = held.find((each) => each.client === client && isDuring(each, fromMs));
    const goesOn = { fromMs: untilMs, text: `${who} goes on.` };
    if (lease === undefined) return [{ fromMs, text: `${who} is paused: none of its code runs.` }, goesOn];
    const expiresMs = validUntilMs(lease, fromMs);
    const paused = { fromMs, text: `${who} is paused. Its lock expires in {left}.`, untilMs: expiresMs };
    if (expiresMs >= untilMs) return [paused, goesOn];
    return [paused, { fromMs: expiresMs, text: `The lock expires, and ${client} cannot know.` }, goesOn];
  });
}

/** The longest time that a write takes to arrive, in milliseconds, unless a fault delays it. */
const promptMs = 100;

function writes(trace: Trace): Caption[] {
  const all = trace.accesses.filter(({ kind }) => kind === "write");
  const firsts = firstOfEach(all);
  return all.flatMap((write) => {
    const { client, sentAtMs, arrivesAtMs, attempt } = write;
    const who = capitalized(client);
    const lease = trace.leases.find((each) => each.attempt === attempt);
    const validMs = lease === undefined ? Infinity : validUntilMs(lease, sentAtMs);
    const arrival = arrivalOf(write, arrivesAtMs > validMs, trace);
    const isTold = arrival !== undefined && (firsts.includes(write) || arrival.isMixed);
    return [
      ...(sentAtMs > validMs ? [{ fromMs: sentAtMs, text: `${who} goes on, and writes as if it had the lock.` }] : []),
      ...(arrivesAtMs - sentAtMs > promptMs && sentAtMs <= validMs
        ? [
            {
              fromMs: sentAtMs,
              text: `The network delays the write of ${client}. Its lock expires in {left}.`,
              untilMs: validMs,
            },
          ]
        : []),
      ...(isTold ? [{ fromMs: arrivesAtMs, text: arrival.text }] : []),
    ];
  });
}

/** Says what a write does to the storages that are drawn, and whether it differs from one to the other. */
function arrivalOf(write: AccessTrace, isLate: boolean, trace: Trace): { text: string; isMixed: boolean } | undefined {
  const { client, fence, results } = write;
  if (results === undefined) return undefined;
  const kinds = storagesToShow(trace);
  const who = capitalized(client);
  const lost = kinds.filter((kind) => results[kind].lost !== undefined);
  const taken = kinds.filter((kind) => results[kind].outcome === "accepted" && !lost.includes(kind));
  const refused = kinds.filter((kind) => results[kind].outcome === "refused");
  const skipped = kinds.filter((kind) => results[kind].outcome === "skipped");
  if (taken.length === kinds.length) {
    return { text: `${who} writes, and ${kinds.length === 2 ? "both" : "all"} storages accept it.`, isMixed: false };
  }
  const sentences = [isLate ? `The late write of ${client} arrives.` : `${who} writes.`];
  const at = (some: readonly StorageKind[]): string => capitalized(listed(some.map((kind) => storagePlaces[kind])));
  const victim = trace.leases.find(({ attempt }) => attempt === results[lost[0] ?? "checks nothing"].lost);
  if (lost.length > 0) sentences.push(`${at(lost)}, the update of ${victim?.client ?? "another client"} is lost.`);
  if (taken.length > 0) sentences.push(`${at(taken)}, it is accepted.`);
  if (refused.length > 0) {
    const highest = Math.max(...refused.map((kind) => results[kind].highest));
    const why = fence === undefined ? "it shows no token" : `its token ${fence} is older than ${highest}`;
    sentences.push(`${at(refused)}, it is refused: ${why}.`);
  }
  if (skipped.length > 0) sentences.push(`${at(skipped)}, it is not sent: the read was refused.`);
  return { text: sentences.join(" "), isMixed: true };
}

/** Attempts that some nodes grant, and too few of them. */
function failures({ claims, leases: held, messages }: Trace): Caption[] {
  const failed = new Map(claims.map(({ attempt, client }) => [attempt, client]));
  for (const { attempt } of held) failed.delete(attempt);
  const undone = [...failed].flatMap(([attempt, client]) => {
    const undo = messages.find((message) => message.attempt === attempt && message.exchange === "undo");
    return undo === undefined ? [] : { client, fromMs: undo.sentAtMs };
  });
  const firsts = firstOfEach(undone);
  return firsts.map(({ fromMs }) => {
    const clients = firsts.filter((other) => other.fromMs === fromMs).map(({ client }) => client);
    const [count, free] =
      clients.length === 1
        ? ["counts", "It frees its claims, and tries"]
        : ["count", "They free their claims, and try"];
    return { fromMs, text: `${capitalized(listed(clients))} ${count} too few votes. ${free} again.` };
  });
}

function lostReplies({ messages }: Trace): Caption[] {
  const lost = messages.filter(({ isLost, outcome }) => isLost && outcome === "granted");
  return [...new Set(lost.map(({ attempt }) => attempt))].flatMap((attempt) => {
    const own = lost.filter((message) => message.attempt === attempt);
    const [{ to: client, sentAtMs: fromMs } = { to: "", sentAtMs: 0 }] = own;
    const nodes = own.map(({ from }) => from);
    return { fromMs, text: `Replies of ${listed(nodes)} are lost: ${client} cannot know that they granted.` };
  });
}

function outage({ node, fromMs, untilMs, votesFromMs, memory }: OutageTrace, { nodes, outages }: Trace): Caption[] {
  if (memory === "kept") {
    const down = new Set(outages.filter((other) => isDuring(other, fromMs)).map((other) => other.node));
    return [
      { fromMs, text: `Node ${node} goes down. ${nodes.length - down.size} of ${nodes.length} are left.` },
      { fromMs: untilMs, text: `Node ${node} is back, with what it knew.` },
    ];
  }
  const back = { fromMs: untilMs, text: `Node ${node} is back. It has forgotten its claims, and may grant again.` };
  const waits = `Node ${node} is back, and does not vote for {left}: what it forgot expires.`;
  return [
    { fromMs, text: `Node ${node} crashes, and loses its memory.` },
    ...(votesFromMs > untilMs
      ? [
          { fromMs: untilMs, text: waits, untilMs: votesFromMs },
          { fromMs: votesFromMs, text: `Node ${node} votes again.` },
        ]
      : [back]),
  ];
}

function clocks({ clocks: all, nodes }: Trace): Caption[] {
  return all.flatMap(({ of, atMs: fromMs, offsetMs }, index) => {
    const byMs = offsetMs - (all.slice(0, index).findLast((each) => each.of === of)?.offsetMs ?? 0);
    if (byMs === 0) return [];
    const jump = `is set ${byMs < 0 ? "back" : "forward"} by ${ms(Math.abs(byMs))}`;
    if (!nodes.includes(of)) {
      const ends = byMs < 0 ? "A second clock still ends its lock in time" : "Its lock ends earlier";
      return { fromMs, text: `The clock of ${of} ${jump}. ${ends}.` };
    }
    return { fromMs, text: `The clock of node ${of} ${jump}. Claims on it end ${byMs < 0 ? "later" : "too early"}.` };
  });
}

function cuts({ partitions }: Trace): Caption[] {
  return partitions.flatMap(({ clients, nodes, fromMs, untilMs }) => [
    { fromMs, text: `Messages between ${listed(clients)} and ${listed(nodes)} are lost.` },
    { fromMs: untilMs, text: `Messages between ${listed(clients)} and ${listed(nodes)} arrive again.` },
  ]);
}

function deaths({ deaths: all, claims }: Trace): Caption[] {
  return all.map(({ client, atMs: fromMs }) => {
    const kept = claims.filter((claim) => claim.client === client && isDuring(claim, fromMs));
    const untilMs = Math.max(...kept.map(({ expiries: ends }) => ends.at(-1)?.untilMs ?? 0));
    const text = `${capitalized(client)} crashes.`;
    return kept.length === 0 ? { fromMs, text } : { fromMs, text: `${text} Its claims expire in {left}.`, untilMs };
  });
}

/** The time in a run during which a sentence is shown, and how long reading it takes. */
export interface Sentence {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly readingS: number;
}

/** Subtitles have as many characters a second. */
const charactersPerS = 20;
const shortestS = 1.5;
/** The first sentence has been read before the run plays, and the last one stays. */
const edgeS = 1;

/**
 * Returns the sentence to read at a moment of a run.
 *
 * @param captions the sentences, of which the first one is there from the start
 */
export function sentenceAt(captions: readonly Caption[], endedAtMs: number, atMs: number): Sentence {
  const index = captions.findLastIndex(({ fromMs }) => fromMs <= atMs);
  const { fromMs = 0, text = "" } = captions[index] ?? {};
  const isEdge = index === 0 || index === captions.length - 1;
  const readingS = isEdge ? edgeS : Math.max(shortestS, text.length / charactersPerS);
  return { fromMs, untilMs: captions[index + 1]?.fromMs ?? endedAtMs, readingS };
}
