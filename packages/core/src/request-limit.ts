import type { Clock } from "./clock.ts";
import type { LockNode } from "./lock-node.ts";
import { Pause } from "./pause.ts";

/** How many operations of one `Redlock` are in flight at most. More would not be faster, see {@link RequestLimit}. */
export const operationsMax = 128;

/** How many replies a node may owe before operations wait for it. */
const owedMax = 512;

/** How many it may owe before it must answer something within this time, in milliseconds, or count as silent. */
const owedUnwatchedMax = 256;
const silentMs = 50;

/** What one node was sent. */
interface Traffic {
  /** The number of requests sent to the node. */
  sent: number;
  /** The number of the latest of them that it has answered. It owes the later ones: earlier ones may be lost. */
  answered: number;
  /** Cancels the timer that looks for new answers. */
  cancelTimer: (() => void) | undefined;
  /** Whether operations wait for the node. */
  isAwaited: boolean;
  /** Whether the node owes much, and has answered nothing for a while. */
  isSilent: boolean;
  /** When it was last sent a request although it was silent, on the monotonic clock. */
  triedAtMs: number;
}

/** How an operation waits for its permit. */
export interface PermitWait {
  /** How long the operation waits, in milliseconds. */
  readonly patienceMs: number;
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
 * releases are not lost. A node that hangs is not waited for, and until it answers, it gets no more requests but the
 * releases of what it was sent. So it costs the others nothing, and has to work off only hundreds of requests when it
 * recovers (W5). Undoing an attempt needs no permit.
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
    const idle = { sent: 0, answered: 0, cancelTimer: undefined, isAwaited: false, isSilent: false, triedAtMs: 0 };
    this.#traffic = new Map(nodes.map((node) => [node, { ...idle }]));
  }

  /**
   * Runs an operation as soon as a permit is free.
   *
   * @returns the result of the operation, or undefined if it gave up waiting and did not run
   */
  async run<T>(operation: () => Promise<T>, wait: PermitWait): Promise<T | undefined> {
    if (!(this.enter() || (await this.wait(wait)))) return undefined;
    try {
      return await operation();
    } finally {
      this.leave();
    }
  }

  /** Takes a permit if one is free, and returns whether it did. */
  enter(): boolean {
    if (this.#inUse >= operationsMax || this.#lagging > 0) return false;
    this.#inUse += 1;
    return true;
  }

  /** Waits for a permit, first come, first served, and returns whether it got one. */
  async wait({ patienceMs, signal, isUrgent }: PermitWait): Promise<boolean> {
    const waiting = isUrgent ? this.#urgent : this.#ordinary;
    const pause = new Pause(this.#clock);
    waiting.add(pause);
    await pause.wait(patienceMs, signal);
    return !waiting.delete(pause);
  }

  /** Returns a permit, when the operation has settled. */
  leave(): void {
    this.#inUse -= 1;
    if (this.#urgent.size > 0 || this.#ordinary.size > 0) this.#admit();
  }

  /** Makes all waiting operations give up, except urgent ones: they get no permit. */
  dismiss(): void {
    for (const pause of this.#ordinary) pause.wake();
  }

  /** Gives permits to waiting operations while there are any. No other operation can take them meanwhile. */
  #admit(): void {
    for (const waiting of [this.#urgent, this.#ordinary]) {
      for (const pause of waiting) {
        if (!pause.isWaiting) continue; // it has just given up
        if (!this.enter()) return;
        waiting.delete(pause);
        pause.wake();
      }
    }
  }

  /**
   * Adds a request to a node, or another step that `drain` waits for, which may take this long in milliseconds. Call
   * {@link end} when it has ended.
   *
   * @returns the number of the request; undefined if it must not be sent, as the node is silent and owes too much, and it
   *   is no release. To find out whether the node answers again, it gets one request each `timeoutMs`
   */
  begin(timeoutMs: number, node?: LockNode, isRelease = false): number | undefined {
    const traffic = node && this.#traffic.get(node);
    if (traffic?.isSilent && !isRelease && !this.#mayTry(traffic, timeoutMs)) return undefined;
    if (this.#unsettled === 0) this.#longestMs = 0;
    this.#unsettled += 1;
    this.#longestMs = Math.max(this.#longestMs, timeoutMs);
    if (traffic === undefined) return 0;
    traffic.sent += 1;
    const owed = traffic.sent - traffic.answered;
    if (owed > owedUnwatchedMax && !traffic.isSilent) {
      if (traffic.cancelTimer === undefined) this.#watch(traffic);
      if (owed >= owedMax && !traffic.isAwaited) this.#await(traffic, true);
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
      const owed = traffic.sent - traffic.answered;
      if (owed <= owedUnwatchedMax && traffic.cancelTimer !== undefined) this.#unwatch(traffic);
      if (owed < owedMax && traffic.isAwaited) this.#await(traffic, false);
    }
    this.#unsettled -= 1;
    if (this.#unsettled === 0) this.#drained?.wake();
  }

  #mayTry(traffic: Traffic, timeoutMs: number): boolean {
    if (traffic.sent - traffic.answered < owedMax) return true;
    const nowMs = this.#clock.monotonicMs();
    const isTime = nowMs >= traffic.triedAtMs + timeoutMs;
    if (isTime) traffic.triedAtMs = nowMs;
    return isTime;
  }

  /** Checks repeatedly whether the node has answered anything. */
  #watch(traffic: Traffic): void {
    const { answered } = traffic;
    const look = (): void => {
      if (traffic.cancelTimer !== cancelTimer) return;
      if (traffic.answered > answered) {
        this.#watch(traffic);
        return;
      }
      this.#unwatch(traffic);
      traffic.isSilent = true;
      if (traffic.isAwaited) this.#await(traffic, false);
    };
    const cancelTimer = this.#clock.startTimer(silentMs, () => this.#clock.afterPendingIo(look), { background: true });
    traffic.cancelTimer = cancelTimer;
  }

  #unwatch(traffic: Traffic): void {
    traffic.cancelTimer?.();
    traffic.cancelTimer = undefined;
  }

  /** Makes operations wait for the node, or no longer. */
  #await(traffic: Traffic, isAwaited: boolean): void {
    traffic.isAwaited = isAwaited;
    this.#lagging += isAwaited ? 1 : -1;
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
