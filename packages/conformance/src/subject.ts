import type { LockNode } from "@holdfast/core";

/** One fresh, isolated lock server as the suite sees it: two clients of it, and a way to clean up. */
export interface LockNodeSubject {
  /** The node under test. */
  readonly node: LockNode;
  /** A second client of the same server: it sees the same claims and the same fence counters. */
  readonly rival: LockNode;
  /** The way to the server, in the suite's hands. Where there is none, {@link DescribeLockNodeOptions.noServer} says why. */
  readonly server?: SubjectServer;
  /**
   * How to make a third client of the same server in another process. Where there is none,
   * {@link DescribeLockNodeOptions.noOtherProcess} says why.
   */
  readonly rivalModule?: RivalModule;
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

/** A module that makes a node in another process. The suite starts the process, loads the module and calls its `openNode`. */
export interface RivalModule {
  /** The module: `new URL("./rival.ts", import.meta.url)`. It exports an {@link OpenNode} by the name `openNode`. */
  readonly url: string | URL;
  /** What `openNode` is called with: plain data, such as the port and the key prefix of the subject. */
  readonly options?: unknown;
  /**
   * Options of Node.js for the process, such as `["--import", "tsx"]` for a module in TypeScript. Default: none. The
   * conditions of imports (`--conditions`) are those of this process.
   */
  readonly execArgv?: readonly string[];
}

/**
 * What a {@link RivalModule} exports as `openNode`: makes a client of the subject's server, as `rival` is one.
 *
 * @example
 * ```ts
 * export const openNode: OpenNode<{ port: number; prefix: string }> = async ({ port, prefix }) => {
 *   const client = new Redis(port);
 *   return { node: ioredisNode(client, { prefix }), close: async () => client.disconnect() };
 * };
 * ```
 */
export type OpenNode<Options = unknown> = (options: Options) => Promise<OpenedNode>;

/** A node, and how to end its client. */
export interface OpenedNode {
  /** A client of the subject's server. */
  readonly node: LockNode;
  /** Ends the client. Leaves claims and counters alone. */
  close(): Promise<void>;
}

/**
 * What the suite may do to the network between the clients of one subject and their server. The proxy of
 * `@holdfast/conformance/tcp-proxy` is one.
 */
export interface SubjectServer {
  /** Makes the server unreachable: ends open connections, refuses new ones. What the server remembers is up to you. */
  stop(): Promise<void>;
  /** Makes it reachable again. The clients have to come back by themselves. */
  start(): Promise<void>;
  /** How many connections both clients have open now. */
  connections(): number | Promise<number>;
}

/**
 * What the server of an adapter cannot do. Each field has the reason, as the adapter's own documentation gives it; the
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
  /**
   * It cannot claim hundreds of resources in one call. `max` is how many it can. Instead, a request for one more is
   * rejected and changes nothing. At least 10.
   */
  readonly manyResources?: SizeLimit;
  /**
   * It cannot keep names of thousands of characters. `max` is how many bytes of UTF-8 a name may have. Instead, a request
   * for a longer name is rejected and changes nothing. At least 64.
   */
  readonly longNames?: SizeLimit;
}

/** How much a server can do, and why no more. */
export interface SizeLimit {
  /** How much it can do. */
  readonly max: number;
  /** Why it can do no more, as the adapter's own documentation says. */
  readonly reason: string;
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
  /** Why the subject has no `rivalModule`, so that nothing is tested across processes. Required where it has none. */
  readonly noOtherProcess?: string;
  /** How long something that must happen may take before its test fails, in milliseconds. Default: 10 000. */
  readonly timeoutMs?: number;
}
