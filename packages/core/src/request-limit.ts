import type { Clock } from "./clock.ts";
import type { LockNode } from "./lock-node.ts";
import { Pause } from "./pause.ts";

/** How many operations of one `Redlock` are in flight at most. More would not be faster, see {@link RequestLimit}. */
export const operationsMax = 128;

/** How many replies a node may owe before operations wait for it. */
const owedMax = 512;

/** How long a node that owes so many replies may be silent until operations no longer wait for it, in milliseconds. */
const silentMs = 50;

/** What one node was sent. */
interface Traffic {
  /** The number of requests sent to the node. */
  sent: number;
  /** The number of the latest of them that it has answered. It owes the later ones: earlier ones may be lost. */
  answered: number;
  /** Cancels the timer that looks for new answers, while operations wait for the node. */
  cancelTimer: (() => void) | undefined;
  /** Whether the node owes much, and has answered nothing for a while. */
  isSilent: boolean;
  /** When it was last sent a request although it was silent, on the monotonic clock. */
  triedAtMs: number;
}

/** How an operation waits for its permit. */
export interface PermitWait {
  /** Returns how long the operation waits, in milliseconds. Called once, if there is no permit. */
  readonly patienceMs: () => number;
  /** Makes the operation give up when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Whether it goes ahead of all operations that are not urgent. */
  readonly isUrgent?: boolean;
}

/**
 * Limits what one `Redlock` has in flight, so that nodes and clients need no limits of their own.
 *
 * Each operation needs a permit: a thousand requests at once can take longer than the node timeout, so that all of them
 * would time out, and all retries as well. The permit is returned when the operation settles, which may be before all
 * nodes have replied. Operations therefore also wait while a node lags far behind the others, so that its claims and
 * releases are not lost. A node that hangs is not waited for, and gets no more requests until it answers, so it costs the
 * others nothing and has to work off only hundreds of requests when it recovers (W5). Undoing an attempt needs no permit.
 */
export class RequestLimit {
  readonly #clock: Clock;
  #inUse = 0;
  readonly #urgent = new Set<Pause>();
  readonly #ordinary = new Set<Pause>();
  readonly #traffic: ReadonlyMap<LockNode, Traffic>;
  /** The number of nodes that operations wait for. */
  #lagging = 0;
  /** The number of all replies and steps that `drain` waits for, and the longest time that they may take. */
  #unsettled = 0;
  #longestMs = 0;
  #drained: Pause | undefined;

  /**
   * @param clock measures waits
   * @param nodes the nodes that are sent requests
   */
  constructor(clock: Clock, nodes: readonly LockNode[]) {
    this.#clock = clock;
    const idle = { sent: 0, answered: 0, cancelTimer: undefined, isSilent: false, triedAtMs: 0 };
    this.#traffic = new Map(nodes.map((node) => [node, { ...idle }]));
  }

  /** Whether the next operation must wait. */
  get isSaturated(): boolean {
    return this.#inUse >= operationsMax || this.#lagging > 0;
  }

  /**
   * Runs an operation as soon as a permit is free, first come, first served. The permit is returned when the operation
   * settles. It must not throw synchronously.
   *
   * @returns the result of the operation, or undefined if it gave up waiting and did not run
   */
  run<T>(operation: () => Promise<T>, wait: PermitWait): Promise<T | undefined> {
    if (this.isSaturated) return this.#runLater(operation, wait);
    this.#inUse += 1;
    return this.#runNow(operation);
  }

  #runNow<T>(operation: () => Promise<T>): Promise<T> {
    const running = operation();
    running.then(this.#returnPermit, this.#returnPermit);
    return running;
  }

  async #runLater<T>(
    operation: () => Promise<T>,
    { patienceMs, signal, isUrgent }: PermitWait,
  ): Promise<T | undefined> {
    const waiting = isUrgent ? this.#urgent : this.#ordinary;
    const pause = new Pause(this.#clock);
    waiting.add(pause);
    await pause.wait(patienceMs(), signal);
    const hasPermit = !waiting.delete(pause);
    return hasPermit ? this.#runNow(operation) : undefined;
  }

  /** Makes all waiting operations give up, except urgent ones: their `run` resolves with undefined. */
  dismiss(): void {
    for (const pause of this.#ordinary) pause.wake();
  }

  readonly #returnPermit = (): void => {
    this.#inUse -= 1;
    this.#admit();
  };

  /** Gives permits to waiting operations while there are any. No other operation can take them meanwhile. */
  #admit(): void {
    for (const waiting of [this.#urgent, this.#ordinary]) {
      for (const pause of waiting) {
        if (this.isSaturated) return;
        if (!pause.isWaiting) continue; // it has just given up
        waiting.delete(pause);
        this.#inUse += 1;
        pause.wake();
      }
    }
  }

  /**
   * Adds a request to a node, or another step that `drain` waits for, which may take this long in milliseconds. Call
   * {@link end} when it has ended.
   *
   * @returns the number of the request
   * @throws if the node is silent and owes too much. To find out whether it answers again, it gets one request each
   *   `timeoutMs`
   */
  begin(timeoutMs: number, node?: LockNode, isRelease = false): number {
    const traffic = node && this.#traffic.get(node);
    if (traffic?.isSilent) this.#assertMayTry(traffic, timeoutMs, isRelease);
    if (this.#unsettled === 0) this.#longestMs = 0;
    this.#unsettled += 1;
    this.#longestMs = Math.max(this.#longestMs, timeoutMs);
    if (traffic === undefined) return 0;
    traffic.sent += 1;
    const isLagging = traffic.sent - traffic.answered >= owedMax;
    if (isLagging && !traffic.isSilent && traffic.cancelTimer === undefined) {
      this.#lagging += 1;
      this.#watch(traffic);
    }
    return traffic.sent;
  }

  /**
   * Removes a request, as it was answered or has failed, or a step. Call it after beginning any request that the reply
   * triggers, so that `drain` waits for that.
   */
  end(number = 0, node?: LockNode): void {
    const traffic = node && this.#traffic.get(node);
    if (traffic) {
      traffic.answered = Math.max(traffic.answered, number);
      traffic.isSilent = false;
      const hasCaughtUp = traffic.sent - traffic.answered < owedMax;
      if (hasCaughtUp && traffic.cancelTimer !== undefined) this.#stopWaiting(traffic);
    }
    this.#unsettled -= 1;
    if (this.#unsettled === 0) this.#drained?.wake();
  }

  #assertMayTry(traffic: Traffic, timeoutMs: number, isRelease: boolean): void {
    const owed = traffic.sent - traffic.answered;
    // An attempt that is undone on a silent node may need as many releases again.
    if (owed < (isRelease ? 2 * owedMax : owedMax)) return;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < traffic.triedAtMs + timeoutMs) throw new Error(`${owed} earlier requests wait for its reply`);
    traffic.triedAtMs = nowMs;
  }

  /** Makes operations wait until the node has caught up, for as long as it answers at all. */
  #watch(traffic: Traffic): void {
    const { answered } = traffic;
    const look = (): void => {
      if (traffic.cancelTimer !== cancelTimer) return;
      traffic.isSilent = traffic.answered === answered;
      if (traffic.isSilent) this.#stopWaiting(traffic);
      else this.#watch(traffic);
    };
    const cancelTimer = this.#clock.startTimer(silentMs, () => this.#clock.afterPendingIo(look), { background: true });
    traffic.cancelTimer = cancelTimer;
  }

  #stopWaiting(traffic: Traffic): void {
    traffic.cancelTimer?.();
    traffic.cancelTimer = undefined;
    this.#lagging -= 1;
    this.#admit();
  }

  /** Waits until no request is in flight, for at most the longest time that any of their replies may take. */
  async drain(): Promise<void> {
    const startMs = this.#clock.monotonicMs();
    for (;;) {
      await new Promise<void>((resolve) => this.#clock.afterPendingIo(resolve));
      const leftMs = startMs + this.#longestMs - this.#clock.monotonicMs();
      if (this.#unsettled === 0 || leftMs <= 0) return;
      this.#drained = new Pause(this.#clock);
      await this.#drained.wait(leftMs);
    }
  }
}
