import type { Clock } from "./clock.ts";
import type { LockNode } from "./lock-node.ts";
import { defaultNodeTimeoutMs, type Settings } from "./options.ts";
import type { OpenCalls } from "./quorum-call.ts";

/**
 * Makes attempts wait for the replies of all nodes until the first lock of a `Redlock` is granted, if nodes verify
 * their servers. Otherwise a server that is listed twice would be noticed only if both of its nodes reply early. The
 * wait for slow nodes happens once.
 */
export class FirstLock {
  readonly #clock: Clock;
  readonly #openCalls: OpenCalls;
  #cancelTimer: (() => void) | undefined;
  /** Whether attempts must wait for all nodes: no lock was granted yet, and nodes verify their servers. */
  isAwaited: boolean;

  /**
   * @param clock measures the wait
   * @param nodes the nodes of the `Redlock`
   * @param openCalls the calls of attempts in progress, among others
   */
  constructor(clock: Clock, nodes: readonly LockNode[], openCalls: OpenCalls) {
    this.#clock = clock;
    this.#openCalls = openCalls;
    this.isAwaited = nodes.some(({ verifiesServer }) => verifiesServer);
  }

  /**
   * Starts the timer that limits the wait for the remaining nodes, unless it is running. Called when a quorum granted.
   */
  startTimer({ ttlMs, nodeTimeoutMs }: Settings): void {
    const timeoutMs = Math.min(nodeTimeoutMs, defaultNodeTimeoutMs(ttlMs));
    const onTimer = () => this.#clock.afterPendingIo(() => this.end());
    this.#cancelTimer ??= this.#clock.startTimer(timeoutMs, onTimer);
  }

  /** Ends the wait: from now on a quorum is enough, including for attempts in progress. */
  end(): void {
    this.isAwaited = false;
    this.#cancelTimer?.();
    this.#openCalls.reconsider();
  }
}
