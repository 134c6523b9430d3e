import type { Checker } from "./check/checkers.ts";
import type { StorageKind } from "./history/history.ts";
import type { Fault } from "./scenario/fault.ts";
import type { Operation, Scenario } from "./scenario/scenario.ts";

/** One way in which, as the critique of Redlock has it, a lock fails; and what comes of it. */
export interface CritiquedCase {
  /** What goes wrong, as a title. */
  readonly title: string;
  /** What happens, and where the critique says so. */
  readonly story: string;
  /** The same as a scenario. */
  readonly scenario: Scenario;
  /** Which checkers find something. */
  readonly violated: readonly Checker[];
  /** Which kinds of storage lose an update. */
  readonly losers: readonly StorageKind[];
  /** What that means without fencing tokens. */
  readonly without: string;
  /** What it means with them. */
  readonly withFencing: string;
}

const ttlMs = 1000;

/** Locks, reads, thinks for a while and writes. */
function update(afterMs: number, thinkMs: number): Operation {
  return { by: "acquire", resources: ["file"], afterMs, thinkMs };
}

/** Two clients, the second of which comes a little later. */
function two(first: Operation, second: Operation, faults: readonly Fault[]): Scenario {
  const clients = [
    { name: "client 1", workers: [[first]] },
    { name: "client 2", workers: [[second]] },
  ];
  return { clients, faults, settings: { ttlMs, latencyMs: [2, 2] } };
}

/** Client 1 reaches only A, B and C; client 2 only C, D and E: all depends on C. */
const onlyNodeCInCommon: readonly Fault[] = [
  { kind: "partition", clients: ["client 1"], nodes: ["D", "E"], part: "both", atMs: 0, forMs: 2000 },
  { kind: "partition", clients: ["client 2"], nodes: ["A", "B"], part: "both", atMs: 0, forMs: 2000 },
];

/**
 * What Martin Kleppmann's "How to do distributed locking" (2016) says goes wrong with Redlock, each as a simulated run
 * of its own.
 */
export const critique: readonly CritiquedCase[] = [
  {
    title: "The clock of node C jumps forward",
    story:
      "Client 1 locks A, B and C, and cannot reach D and E. The clock of C jumps forward, so that C takes the claim for expired. Client 2 locks C, D and E, and cannot reach A and B (first example of the critique).",
    scenario: two(update(0, 300), update(50, 100), [
      ...onlyNodeCInCommon,
      { kind: "clock jump", of: "C", atMs: 30, byMs: ttlMs },
    ]),
    violated: ["mutual exclusion"],
    losers: ["checks nothing"],
    without: "Both believe that they hold the lock, and the update of client 2 is lost.",
    withFencing:
      "Both still believe it. The storage refuses the write of client 1, as it has seen a later token: nothing is lost.",
  },
  {
    title: "Node C crashes, and restarts at once without its memory",
    story:
      "Client 1 locks A, B and C. C crashes before it has written the claim to its disk, and restarts. Client 2 locks C, D and E (second example of the critique; “delayed restarts” on the distlock page).",
    scenario: two(update(0, 300), update(50, 100), [
      ...onlyNodeCInCommon,
      { kind: "node crash", node: "C", atMs: 30, forMs: 1, memory: "lost", isSilent: false },
    ]),
    violated: ["mutual exclusion"],
    losers: ["checks nothing"],
    without: "As with the clock that jumps: both believe that they hold the lock, and an update is lost.",
    withFencing:
      "The counter of C is lost as well. The token of client 2 is larger all the same, as tokens are never behind the clock of the client that asks: nothing is lost.",
  },
  {
    title: "A client is paused while the replies are in flight",
    story:
      "Client 1 asks all nodes, and is paused before it sees their replies. Its claims expire, and client 2 gets the lock. Client 1 goes on, and finds the replies: all nodes have granted (third example of the critique).",
    scenario: two(update(0, 300), update(50, 300), [
      { kind: "pause", client: "client 1", atMs: 3, forMs: 1300, step: 0 },
    ]),
    violated: [],
    losers: [],
    without:
      "Nothing is lost. The client compares its clock with that of before the first request, finds nothing left of the validity, and has no lock: it releases and tries again.",
    withFencing: "The same.",
  },
  {
    title: "A client is paused after the check, and before the write",
    story:
      "Client 1 has read, looks once more at its lock, which is valid, and is paused before its write leaves. Client 2 locks, reads and writes meanwhile (the diagram with the garbage collector, and that with tokens 33 and 34).",
    scenario: two(update(0, 100), update(50, 100), [
      { kind: "pause before acting", client: "client 1", atMs: 50, forMs: 2000 },
    ]),
    violated: ["mutual exclusion"],
    losers: ["checks nothing"],
    without:
      "The write of client 1 arrives two seconds later, and overwrites what client 2 wrote. No check on the client can prevent it: the pause can always come right after the check.",
    withFencing: "The storage has seen the token of client 2, and refuses the late write.",
  },
  {
    title: "A write that is delayed past the ttl",
    story:
      "No process is paused, but the network keeps the write of client 1 for two seconds. Its lock has ended and client 2 has the next one when the write arrives (the critique's network that delayed packets for 90 seconds).",
    scenario: two(update(0, 100), update(50, 100), [
      { kind: "late access", client: "client 1", access: 2, byMs: 2000 },
    ]),
    violated: [],
    losers: ["checks nothing"],
    without: "Never do two clients hold the lock at once, and yet an update is lost.",
    withFencing: "The storage refuses the write when it arrives.",
  },
  {
    title: "A late write, between the read and the write of the next holder",
    story:
      "As before, but the late write arrives when client 2 has read, and has not yet written. Its token is checked against those of earlier writes: there is none that is larger yet.",
    scenario: two(update(0, 100), update(50, 800), [
      { kind: "late access", client: "client 1", access: 2, byMs: 1500 },
    ]),
    violated: [],
    losers: ["checks writes", "checks nothing"],
    without: "The late write is accepted, and then overwritten by client 2, which has never seen it.",
    withFencing:
      "A storage that checks writes only loses the update, too. One that is shown the token at the read refuses the late write. This is why the token belongs to every access.",
  },
  {
    title: "A claim that is delayed past the ttl",
    story:
      "The claim of client 1 reaches C, D and E more than a ttl late, when its attempt has long been given up: C while client 2 holds the lock, D and E when it is free again.",
    scenario: two({ ...update(0, 300), by: "tryAcquire" }, update(900, 500), [
      { kind: "late message", client: "client 1", node: "C", message: 1, part: "request", byMs: 1200 },
      { kind: "late message", client: "client 1", node: "D", message: 1, part: "request", byMs: 1700 },
      { kind: "late message", client: "client 1", node: "E", message: 1, part: "request", byMs: 1700 },
    ]),
    violated: [],
    losers: [],
    without:
      "Nothing is lost. An attempt that was given up counts for nobody, whatever is granted to it later, as no two attempts share a name; and what D and E grant is freed by the release that follows on the same connection.",
    withFencing: "The same.",
  },
];
