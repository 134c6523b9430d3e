import type { LockNode } from "@holdfast/core";

/**
 * What a module given with `--adapter` exports: how to reach Redis-speaking servers with it. Each client process loads
 * one, and calls `connect` once, or twice if the run has nemeses with a restart guard.
 */
export interface ChaosAdapter {
  /**
   * Connects to all servers, and resolves when it is connected. Connections must come back by themselves, soon (50 ms),
   * and errors of theirs must not end the process.
   */
  connect(urls: readonly string[], options: ConnectOptions): Promise<Connected>;
}

export interface ConnectOptions {
  /** For how long a node whose server restarted does not vote, in milliseconds; 0: at once. See `@holdfast/redis`. */
  readonly restartGuardMs: number;
}

export interface Connected {
  /** One for each of the servers, in their order. */
  readonly nodes: readonly LockNode[];
  close(): Promise<void> | void;
}
