import type { LockNode, Observer, Redlock } from "@holdfast/core";
import { withUsageErrors } from "../failures.ts";
import type { ServerOptions } from "../options/server-options.ts";
import { printMessage } from "../output/print.ts";
import { withSignals } from "../signals.ts";
import type { Server } from "./server.ts";
import { closeServers, openServers, untilConnected } from "./servers.ts";
import { arranged, type JointPositions, setsOf } from "./sets.ts";

/** A Redlock over the user's servers. */
export interface LockService {
  readonly redlock: Redlock;
  /** The nodes of the Redlock, each once. */
  readonly nodes: readonly LockNode[];
  /** The servers behind the nodes, in the same order; empty if the only node is in this process. */
  readonly servers: readonly Server[];
  /** The timeout of each server, in milliseconds. */
  readonly nodeTimeoutMs: number;
  /** Which of the servers form which set; undefined if they are one set. */
  readonly joint: JointPositions | undefined;
}

/** The options of {@link withLockService}. */
export interface LockServiceOptions {
  readonly observer?: Observer;
  /** Stops waiting for connections when it aborts. */
  readonly interrupted?: AbortSignal;
}

/**
 * Connects, runs `use`, and closes the Redlock and the connections in any case, so that every pending release is
 * completed.
 *
 * @throws {UsageError} if options do not fit together
 */
export async function withLockService<T>(
  options: ServerOptions,
  { observer, interrupted }: LockServiceOptions,
  use: (service: LockService) => Promise<T>,
): Promise<T> {
  const servers = await withUsageErrors(() => openServers(options));
  let redlock: Redlock | undefined;
  try {
    // Libraries are loaded on demand, because loading them takes most of the time of a short command.
    const { defaultNodeTimeoutMs, Redlock } = await import("@holdfast/core");
    const nodes = options.memory ? await nodesInMemory() : servers.map(({ node }) => node);
    const { joint, generation, ttlMs } = options;
    const nodeTimeoutMs = options.nodeTimeoutMs ?? defaultNodeTimeoutMs(ttlMs, nodes);
    const settings = { generation, ttlMs, nodeTimeoutMs, observer };
    redlock = await withUsageErrors(() => new Redlock(arranged(nodes, joint), settings));
    await untilConnected(setsOf(servers, joint), interrupted);
    return await use({ redlock, nodes, servers, nodeTimeoutMs, joint });
  } finally {
    await redlock?.close();
    await closeServers(servers);
  }
}

/**
 * Connects, and runs `use` until a signal interrupts it.
 *
 * @param outcome what to print after an interruption
 * @returns the exit code of `use`, or of the signal
 */
export async function withInterruptibleService(
  options: ServerOptions,
  outcome: string,
  use: (service: LockService, signal: AbortSignal) => Promise<number>,
): Promise<number> {
  return withSignals(async (signals) => {
    try {
      return await withLockService(options, signals, (service) => use(service, signals.interrupted));
    } catch (error) {
      if (!signals.interrupted.aborted) throw error;
      printMessage(`interrupted: ${outcome}`);
      return signals.exitCode;
    }
  });
}

async function nodesInMemory(): Promise<readonly LockNode[]> {
  const { memoryNode } = await import("@holdfast/memory");
  return [memoryNode()];
}
