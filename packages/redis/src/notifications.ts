import type { Unwatch } from "@holdfast/core/node";
import type { RedisConnection, RedisSubscriber } from "./connection.ts";

/** One watched resource of one watch: a function that takes the next waiter, if a message names one. */
type Listener = (next: string | undefined) => void;

/** A channel with listeners. */
interface Channel {
  readonly listeners: Set<Listener>;
  /** The watches that wait until the server confirms the subscription. */
  readonly waiting: { resolve(): void; reject(reason: unknown): void }[];
}

type OpenSubscriber = NonNullable<RedisConnection["openSubscriber"]>;

/** How long the server may take to confirm a command before the connection is replaced. */
const confirmTimeoutMs = 2_000;

/** How long the connection stays open after the last watch: the next one often follows soon. */
const idleMs = 1_000;

/**
 * The watches of one node, which share one subscriber connection. It is opened by the first watch.
 *
 * At most one command is in flight, because clients lose count when a channel is unsubscribed and subscribed again
 * before the server has replied. Other differences between the watched channels and those that the server has confirmed
 * are resolved afterwards, if they still exist.
 */
export class Notifications {
  readonly #openSubscriber: OpenSubscriber;
  /** The channels that are watched. */
  readonly #channels = new Map<string, Channel>();
  /** The channels that the server has confirmed. */
  readonly #subscribed = new Set<string>();
  /** The channels whose subscription differs from what is wanted: watched but not subscribed, or the reverse. */
  readonly #outdated = new Set<string>();
  #subscriber: RedisSubscriber | undefined;
  /** The timeout of the command in flight. */
  #commandTimer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  /** @param openSubscriber opens the second connection */
  constructor(openSubscriber: OpenSubscriber) {
    this.#openSubscriber = openSubscriber;
  }

  /**
   * Watches channels until the returned function is called. Rejects if the server cannot be subscribed to.
   *
   * @param names the channels
   * @param resources the resource of each channel, in the same order
   * @param onReleased called with the resource of a message, and the next waiter if the message names one
   */
  async watch(
    names: readonly string[],
    resources: readonly string[],
    onReleased: (resource: string, next?: string) => void,
  ): Promise<Unwatch> {
    clearTimeout(this.#idleTimer);
    const listeners = resources.map((resource): Listener => {
      return (next) => (next === undefined ? onReleased(resource) : onReleased(resource, next));
    });
    const unwatch = async (): Promise<void> => {
      for (const [index, listener] of listeners.entries()) this.#leave(names[index] as string, listener);
      if (this.#channels.size > 0 || this.#subscriber === undefined) return;
      clearTimeout(this.#idleTimer);
      this.#idleTimer = setTimeout(() => this.#disconnect(new Error("the connection is idle")), idleMs).unref();
    };
    try {
      await Promise.all(listeners.map((listener, index) => this.#join(names[index] as string, listener)));
    } catch (error) {
      await unwatch();
      throw error;
    }
    return unwatch;
  }

  /** Ends all watches. */
  close(): void {
    this.#disconnect(new Error("the node is closed"));
    this.#channels.clear();
  }

  #open(): RedisSubscriber {
    const opened = this.#openSubscriber(
      (channel, message) => {
        for (const listener of this.#channels.get(channel)?.listeners ?? []) listener(message || undefined);
      },
      (error = new Error("the subscriber connection has ended")) => {
        if (this.#subscriber === opened) this.#forget(error);
      },
    );
    return opened;
  }

  /** Drops the connection, and fails the watches that wait for it. */
  #forget(reason: unknown): void {
    clearTimeout(this.#commandTimer);
    clearTimeout(this.#idleTimer);
    this.#commandTimer = undefined;
    this.#subscriber = undefined;
    this.#subscribed.clear();
    this.#outdated.clear();
    for (const name of this.#channels.keys()) {
      this.#fail(name, reason);
      this.#outdated.add(name);
    }
  }

  #disconnect(reason: Error): void {
    const closing = this.#subscriber;
    this.#forget(reason);
    closing?.close();
  }

  /** Updates whether a channel is outdated. */
  #update(name: string): void {
    if (this.#channels.has(name) === this.#subscribed.has(name)) this.#outdated.delete(name);
    else this.#outdated.add(name);
  }

  /** Sends the next command, unless one is in flight. */
  #advance(): void {
    const [name] = this.#outdated;
    if (name === undefined || this.#commandTimer !== undefined) return;
    this.#subscriber ??= this.#open();
    const { subscribe, unsubscribe } = this.#subscriber;
    const isJoining = this.#channels.has(name);
    this.#outdated.delete(name);
    this.#subscribed.delete(name); // a new watch must not rely on it from here on
    // A reply that arrived while the process stalled still counts.
    const timer = setTimeout(() => setImmediate(replaceIfLate), confirmTimeoutMs).unref();
    this.#commandTimer = timer;
    const replaceIfLate = (): void => {
      if (this.#commandTimer === timer) this.#replace();
    };
    const onEnded = (settle: () => void): void => {
      if (this.#commandTimer !== timer) return;
      clearTimeout(timer);
      this.#commandTimer = undefined;
      if (isJoining) settle();
      this.#advance();
    };
    Promise.resolve(name)
      .then(isJoining ? subscribe : unsubscribe)
      .then(
        () => onEnded(() => this.#confirm(name)),
        (error) => onEnded(() => this.#fail(name, error)),
      );
  }

  #confirm(name: string): void {
    this.#subscribed.add(name);
    this.#update(name);
    for (const { resolve } of this.#channels.get(name)?.waiting.splice(0) ?? []) resolve();
  }

  /** Fails the watches that wait for the subscription. The next watch of the channel tries again. */
  #fail(name: string, error: unknown): void {
    this.#outdated.delete(name);
    for (const { reject } of this.#channels.get(name)?.waiting.splice(0) ?? []) reject(error);
  }

  /** Replaces a silent connection, because a new one may work. The watches that waited for it fail. */
  #replace(): void {
    this.#disconnect(new Error(`the server did not confirm the subscription within ${confirmTimeoutMs} ms`));
    setImmediate(() => {
      try {
        this.#advance();
      } catch {
        // The next watch tries again, and fails with the reason.
      }
    });
  }

  async #join(name: string, listener: Listener): Promise<void> {
    const channel = this.#channels.get(name) ?? { listeners: new Set(), waiting: [] };
    this.#channels.set(name, channel);
    channel.listeners.add(listener);
    this.#update(name);
    if (this.#subscribed.has(name)) return;
    await new Promise<void>((resolve, reject) => {
      channel.waiting.push({ resolve, reject });
      this.#advance();
    });
  }

  #leave(name: string, listener: Listener): void {
    const channel = this.#channels.get(name);
    if (!channel?.listeners.delete(listener) || channel.listeners.size > 0) return;
    this.#channels.delete(name);
    this.#update(name);
    if (this.#subscriber !== undefined) this.#advance();
  }
}
