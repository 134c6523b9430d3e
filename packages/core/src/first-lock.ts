import type { Clock } from "./clock.ts";
import type { LockNode } from "./lock-node.ts";
import { defaultNodeTimeoutMs, type Settings } from "./options.ts";
import type { QuorumCall } from "./quorum-call.ts";

/**
 * Has attempts hear all nodes until the first lock of a `Redlock` is granted, if nodes verify their servers. Otherwise a server that
 * is listed twice would be found only if both of its nodes answer early. Nodes that do not answer in time are waited for once.
 */
export class FirstLock {
  readonly #clock: Clock;
  readonly #openCalls: Set<QuorumCall>;
  #cancelTimer: (() => void) | undefined;
  /** Whether no lock was granted yet, and nodes verify their servers. */
  isAwaited: boolean;

  /**
   * @param clock what measures how long nodes are waited for
   * @param nodes those of the `Redlock`
   * @param openCalls the calls of attempts that are under way
   */
  constructor(clock: Clock, nodes: readonly LockNode[], openCalls: Set<QuorumCall>) {
    this.#clock = clock;
    this.#openCalls = openCalls;
    this.isAwaited = nodes.some(({ verifiesServer }) => verifiesServer);
  }

  /** An attempt has a quorum: starts the time for which the rest of the nodes is waited for, unless it has started. */
  startTimer({ ttlMs, nodeTimeoutMs }: Settings): void {
    const timeoutMs = Math.min(nodeTimeoutMs, defaultNodeTimeoutMs(ttlMs));
    const onTimer = () => this.#clock.afterPendingIo(() => this.end());
    this.#cancelTimer ??= this.#clock.startTimer(timeoutMs, onTimer);
  }

  /** From now on a quorum is enough, also for the attempts that are under way. */
  end(): void {
    this.isAwaited = false;
    this.#cancelTimer?.();
    for (const call of [...this.#openCalls]) call.reconsider();
  }
}
