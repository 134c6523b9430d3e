import type { LockNode } from "@holdfast/core";

/** One fresh, isolated lock server as the suite sees it: two clients of it, and a way to clean up. */
export interface LockNodeSubject {
  /** The node under test. */
  readonly node: LockNode;
  /** A second client of the same server: it sees the same claims and the same fence counters. */
  readonly rival: LockNode;
  /** Ends both clients and removes what the test left behind. Called once, after each test, also a failed one. */
  close(): Promise<void>;
  /**
   * Makes the server's clock advance, for a node on an injected clock: expiry then takes no real time. Without it the
   * suite waits for real time to pass.
   */
  advance?(ms: number): void | Promise<void>;
  /** The server's wall clock, in milliseconds since the Unix epoch. Default: the clock of this process. */
  nowMs?(): number;
}

/**
 * What the server of an adapter cannot do. Each field is the reason, as the adapter's own documentation gives it; the
 * suite shows it in the report. The tests that do not apply are listed as skipped, and what must happen *instead* is
 * tested. Everything that may be declared costs waiting or features, and none of it costs safety.
 */
export interface LockNodeLimits {
  /** It cannot claim several resources atomically. Instead, a request for more than one is rejected and changes nothing. */
  readonly severalResources?: string;
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
  /** How long something that must happen may take before its test fails, in milliseconds. Default: 10 000. */
  readonly patienceMs?: number;
}
