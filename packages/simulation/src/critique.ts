import { type CritiquedScenario, critiqueScenarios } from "./critique-scenarios.ts";

/** One way in which, according to the critique of Redlock, a lock fails, and its outcome. */
export interface CritiquedCase extends CritiquedScenario {
  /** The failure, as a title. */
  readonly title: string;
  /** The story, and where the critique tells it. */
  readonly story: string;
  /** The outcome without fencing tokens. */
  readonly without: string;
  /** The outcome with fencing tokens. */
  readonly withFencing: string;
}

/** Joins the lines of a text. */
function text(...lines: readonly string[]): string {
  return lines.join(" ");
}

/**
 * The failures of Redlock that Martin Kleppmann's "How to do distributed locking" (2016) describes, each as a scenario.
 */
export const critique: readonly CritiquedCase[] = [
  {
    title: "The clock of node C jumps forward",
    story: text(
      "Client 1 locks A, B and C, and cannot reach D and E. The clock of C jumps forward, and C considers the claim",
      "expired. Client 2 locks C, D and E, and cannot reach A and B (first example of the critique).",
    ),
    ...critiqueScenarios["node clock"],
    without: "Both believe that they hold the lock, and the update of client 2 is lost.",
    withFencing: text(
      "Both still believe it. The storage refuses the write of client 1 because it has seen a later token: nothing",
      "is lost.",
    ),
  },
  {
    title: "Node C crashes, and restarts at once without its memory",
    story: text(
      "Client 1 locks A, B and C. C crashes before it has written the claim to disk, and restarts. Client 2 locks",
      "C, D and E (second example of the critique; “delayed restarts” on the distlock page).",
    ),
    ...critiqueScenarios["node restart"],
    without: "As with the clock jump, both believe that they hold the lock, and an update is lost.",
    withFencing: text(
      "The counter of C is lost as well. The token of client 2 is still larger, because tokens are never behind the",
      "clock of the requesting client: nothing is lost.",
    ),
  },
  {
    title: "A client is paused while the replies are in flight",
    story: text(
      "Client 1 asks all nodes, and is paused before it sees their replies. Its claims expire, and client 2 gets",
      "the lock. Client 1 resumes and reads the replies: all nodes have granted (third example of the critique).",
    ),
    ...critiqueScenarios["pause before replies"],
    without: text(
      "Nothing is lost. The client compares its clock with the time of the first request and finds that no validity",
      "is left. It has no lock: it releases and tries again.",
    ),
    withFencing: "The same.",
  },
  {
    title: "A client is paused after the check, and before the write",
    story: text(
      "Client 1 reads, checks once more that its lock is valid, and is paused before it sends its write. Meanwhile",
      "client 2 locks, reads and writes (the diagram with the garbage collector, and that with tokens 33 and 34).",
    ),
    ...critiqueScenarios["pause before writing"],
    without: text(
      "The write of client 1 arrives two seconds later and overwrites what client 2 wrote. No check in the client",
      "can prevent this: the pause can always come right after the check.",
    ),
    withFencing: "The storage has seen the token of client 2 and refuses the late write.",
  },
  {
    title: "A write that is delayed past the ttl",
    story: text(
      "No process is paused, but the network delays the write of client 1 by two seconds. When it arrives, the lock",
      "has ended and client 2 holds the next one (the critique's network that delayed packets for 90 seconds).",
    ),
    ...critiqueScenarios["late write"],
    without: "The two clients never hold the lock at the same time, and yet an update is lost.",
    withFencing: "The storage refuses the write when it arrives.",
  },
  {
    title: "A late write, between the read and the write of the next holder",
    story: text(
      "As before, but the late write arrives after client 2 has read and before it writes. Its token is checked",
      "against the tokens of earlier writes, none of which is larger.",
    ),
    ...critiqueScenarios["late write between"],
    without: "The late write is accepted, and then overwritten by client 2, which has not seen it.",
    withFencing: text(
      "A storage that checks only writes loses the update, too. A storage that also gets the token at the read",
      "refuses the late write. This is why every access must carry the token.",
    ),
  },
  {
    title: "A claim that is delayed past the ttl",
    story: text(
      "The claim of client 1 reaches C, D and E more than a ttl late, long after its attempt has failed. It reaches",
      "C while client 2 holds the lock, and D and E when the lock is free again.",
    ),
    ...critiqueScenarios["late claim"],
    without: text(
      "Nothing is lost. A late grant cannot count for another attempt, as no two attempts share an owner. The",
      "release that follows on the same connection frees the claims on D and E.",
    ),
    withFencing: "The same.",
  },
];
