import type { LockNode } from "@holdfast/core";

/** One fresh, isolated lock server as the suite sees it: two clients of it, and a way to clean up. */
export interface LockNodeSubject {
  /** The node under test. */
  readonly node: LockNode;
  /** A second client of the same server: it sees the same claims and the same fence counters. */
  readonly rival: LockNode;
  /** The way to the server, in the suite's hands. Where there is none, {@link DescribeLockNodeOptions.noServer} says why. */
  readonly server?: SubjectServer;
  /** Ends both clients and removes what the test left behind. Called once, after each test, also a failed one. */
  close(): Promise<void>;
  /**
   * Makes the server's clock advance, for a node on an injected clock: expiry then takes no real time. Without it the
   * suite waits for real time to pass.
   */
  advance?(ms: number): void | Promise<void>;
  /** The server's wall clock, in milliseconds since the Unix epoch. Default: the clock of this process. */
  nowMs?(): number;
  /**
   * Names a resource so that it can be claimed together with all others named so, for example with a hash tag. Needed
   * where `unrelatedResources` is declared, and not otherwise.
   */
  related?(resource: string): string;
}

/** What the suite may do to the way between the clients of one subject and their server: a TCP proxy can do all of it. */
export interface SubjectServer {
  /** Makes the server unreachable: ends open connections, refuses new ones. What the server remembers is up to you. */
  stop(): Promise<void>;
  /** Makes it reachable again. The clients have to come back by themselves. */
  start(): Promise<void>;
  /** How many connections both clients have open now. */
  connections(): number | Promise<number>;
}

/**
 * What the server of an adapter cannot do. Each field is the reason, as the adapter's own documentation gives it; the
 * suite shows it in the report. What must happen *instead* is tested. Everything that may be declared costs waiting or
 * features, and none of it costs safety.
 */
export interface LockNodeLimits {
  /** It cannot claim several resources atomically. Instead, a request for more than one is rejected and changes nothing. */
  readonly severalResources?: string;
  /**
   * It can claim several resources together only where their names are related, as in one slot of a Redis Cluster.
   * Instead, a request for others is rejected with an error that names them, and changes nothing.
   */
  readonly unrelatedResources?: string;
  /** It cannot pass a claim from one owner to another. Instead, a takeover is denied like any other claim. */
  readonly takeover?: string;
  /** It cannot claim again in `extend`. Instead, the answer is neither held nor rejoined, and nothing changes. */
  readonly rejoin?: string;
  /** It cannot keep a claim for thirty days. Instead, such a request is rejected and claims nothing. */
  readonly longTtl?: string;
  /** It cannot end a claim on the millisecond. Instead, a claim is kept somewhat longer than asked, and never shorter. */
  readonly exactTtl?: string;
}

/** What {@link describeLockNode} needs to know about an adapter. */
export interface DescribeLockNodeOptions {
  /**
   * Makes a fresh subject: no two calls may share claims or fence counters. Called once for every test, a few times for
   * the tests of a whole Redlock, and once before the tests to see which optional methods the node has.
   */
  create(): Promise<LockNodeSubject>;
  /** What the server cannot do, and why. Default: nothing. */
  readonly cannot?: LockNodeLimits;
  /** Why the subject has no `server`, so that outages and connections are not tested. Required where it has none. */
  readonly noServer?: string;
  /** How long something that must happen may take before its test fails, in milliseconds. Default: 10 000. */
  readonly timeoutMs?: number;
}
