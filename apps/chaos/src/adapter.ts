import type { LockNode } from "@holdfast/core";

/**
 * The exports of a module for `--adapter`. Each client process loads one, and calls `connect` once, and again before and after
 * an attack with a restart guard.
 */
export interface ChaosAdapter {
  /**
   * Connects to all servers, and resolves when all are connected. Connections must reconnect automatically within about
   * 50 ms, and their errors must not end the process.
   */
  connect(urls: readonly string[], options: ConnectOptions): Promise<Connected>;
}

export interface ConnectOptions {
  /** The names of the nodes, in the order of the URLs. */
  readonly names: readonly string[];
  /** How long a node does not vote after its server restarted, in milliseconds; 0 for no guard. See `@holdfast/redis`. */
  readonly restartGuardMs: number;
}

export interface Connected {
  /** A node for each server, in the order of the URLs. */
  readonly nodes: readonly LockNode[];
  close(): Promise<void> | void;
}
