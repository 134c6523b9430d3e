import type { LockNode } from "@holdfast/core";

/** A fresh, isolated lock server as the suite uses it: two clients, and a way to clean up. */
export interface LockNodeSubject {
  /** The node under test. */
  readonly node: LockNode;
  /** A second client of the same server: it sees the same claims and the same fence counters. */
  readonly rival: LockNode;
  /** Controls the network to the server. Without it, {@link DescribeLockNodeOptions.noServer} must say why. */
  readonly server?: SubjectServer;
  /**
   * How to open a third client of the same server in another process. Without it,
   * {@link DescribeLockNodeOptions.noOtherProcess} must say why.
   */
  readonly rivalModule?: RivalModule;
  /** Closes both clients and removes all data of the subject. Called once after each test, even if the test failed. */
  close(): Promise<void>;
  /**
   * Advances the server's clock, for a node with an injected clock: expiry then takes no real time. Without it, the
   * suite waits for real time to pass.
   */
  advance?(ms: number): void | Promise<void>;
  /**
   * The wall clock that limits fence hints, in milliseconds since the Unix epoch: the server's, or the adapter's if the
   * server has none. Default: the clock of this process.
   */
  nowMs?(): number;
  /**
   * Returns a name under which the resource can be claimed together with all others from this method, for example with
   * a hash tag. Required if `unrelatedResources` is declared, and unused otherwise.
   */
  related?(resource: string): string;
}

/**
 * A module that opens a node in another process. The suite starts the process, imports the module and calls its
 * `openNode`.
 */
export interface RivalModule {
  /**
   * The module's URL, such as `new URL("./rival.ts", import.meta.url)`. It must export an {@link OpenNode} as
   * `openNode`.
   */
  readonly url: string | URL;
  /** The argument of `openNode`: plain data, such as the port and the key prefix of the subject. */
  readonly options?: unknown;
  /**
   * Node.js options for the process, such as `["--import", "tsx"]` for a TypeScript module. Default: none. The process
   * inherits the import conditions (`--conditions`) of this one.
   */
  readonly execArgv?: readonly string[];
}

/**
 * The function that a {@link RivalModule} exports as `openNode`: opens another client of the subject's server.
 *
 * @example
 * ```ts
 * import type { OpenNode } from "@holdfast/conformance";
 * import { ioredisNode } from "@holdfast/ioredis";
 * import { Redis } from "ioredis";
 *
 * export const openNode: OpenNode<{ port: number; prefix: string }> = async ({ port, prefix }) => {
 *   const client = new Redis(port);
 *   return { node: ioredisNode(client, { prefix }), close: async () => client.disconnect() };
 * };
 * ```
 */
export type OpenNode<Options = unknown> = (options: Options) => Promise<OpenedNode>;

/** A node, and how to close its client. */
export interface OpenedNode {
  /** A client of the subject's server. */
  readonly node: LockNode;
  /** Closes the client. Must not change claims or counters. */
  close(): Promise<void>;
}

/**
 * Controls the network between the clients of one subject and their server. The proxy of
 * `@holdfast/conformance/tcp-proxy` implements it.
 */
export interface SubjectServer {
  /**
   * Makes the server unreachable: closes open connections and refuses new ones. The server may keep or lose its data.
   */
  stop(): Promise<void>;
  /** Makes the server reachable again. The clients must reconnect automatically. */
  start(): Promise<void>;
  /** Returns how many connections both clients together have open. */
  connections(): number | Promise<number>;
}

/**
 * Abilities that an adapter's server lacks. Each field has the reason, as in the adapter's own documentation; the suite
 * shows it in the report. The suite tests what must happen *instead*. A limit may cost features or waiting time, but
 * never safety.
 */
export interface LockNodeLimits {
  /** It cannot claim several resources atomically. Instead, a request for more than one rejects and changes nothing. */
  readonly severalResources?: string;
  /**
   * It can claim several resources together only if their names are related, as in one slot of a Redis Cluster.
   * Instead, a request for others rejects with an error that names them, and changes nothing.
   */
  readonly unrelatedResources?: string;
  /** It cannot pass a claim from one owner to another. Instead, a takeover is denied like any other claim. */
  readonly takeover?: string;
  /** It cannot rejoin in `extend`. Instead, the reply is neither held nor rejoined, and nothing changes. */
  readonly rejoin?: string;
  /**
   * It cannot hold shared claims together. Instead, a shared claim is treated as an exclusive one: it is denied while any
   * other owner's claim is in force, and blocks all others.
   */
  readonly sharing?: string;
  /**
   * It cannot keep a floor of its fence counters. Instead, it has neither `raiseFloor` nor `scan`, and ignores the
   * `epoch` of requests.
   */
  readonly floor?: string;
  /** It cannot keep a claim for thirty days. Instead, a request for that rejects and claims nothing. */
  readonly longTtl?: string;
  /**
   * It cannot end a claim to the millisecond. Instead, a claim may last somewhat longer than requested, never shorter.
   */
  readonly exactTtl?: string;
  /**
   * It cannot claim hundreds of resources in one call. `max` is how many it can claim, at least 10. Instead, a request
   * for more rejects and changes nothing.
   */
  readonly manyResources?: SizeLimit;
  /**
   * It cannot keep names of thousands of characters. `max` is how many bytes of UTF-8 a name may have, at least 64.
   * Instead, a request for a longer name rejects and changes nothing.
   */
  readonly longNames?: SizeLimit;
}

/** A size that a server cannot exceed, and why. */
export interface SizeLimit {
  /** The largest size that it supports. */
  readonly max: number;
  /** Why it supports no more, as in the adapter's own documentation. */
  readonly reason: string;
}

/** Options of {@link describeLockNode}. */
export interface DescribeLockNodeOptions {
  /**
   * Creates a fresh subject: no two subjects may share claims or fence counters. Called once for every test, and once
   * before the tests to see which optional methods the node has.
   */
  create(): Promise<LockNodeSubject>;
  /** What the server cannot do, and why. Default: no limits. */
  readonly cannot?: LockNodeLimits;
  /** Why the subject has no `server`; outages and connections are then not tested. Required without a `server`. */
  readonly noServer?: string;
  /** Why the subject has no `rivalModule`; processes are then not tested. Required without a `rivalModule`. */
  readonly noOtherProcess?: string;
  /**
   * The statements of the tests to run, such as {@link essentialTests}: for one more client or version of a node that
   * passes the whole suite. The report says that the rest was not run. Default: all tests.
   */
  readonly only?: readonly string[];
  /**
   * How many times the suite repeats each race, as a multiple of what it does by default: 0.25 saves time where the same
   * node has passed before, 10 finds rarer mistakes. The report says so. From 0.05 to 100; default 1.
   */
  readonly repetition?: number;
  /** How long a test waits for anything that must happen before it fails, in milliseconds. Default 10 000. */
  readonly timeoutMs?: number;
}
