import type { Unwatch } from "@holdfast/core";
import type { RedisConnection, RedisSubscriber } from "./connection.ts";

/** One watched resource of one watch. */
interface Listener {
  onMessage(next: string | undefined): void;
}

/** A channel with listeners. */
interface Channel {
  readonly listeners: Set<Listener>;
  /** The latest subscription; undefined if it failed, or its connection ended. */
  subscription: Subscription | undefined;
}

interface Subscription {
  readonly confirmed: Promise<void>;
  readonly confirm: () => void;
  readonly fail: (reason: unknown) => void;
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
  #isClosed = false;

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
    if (this.#isClosed) throw new Error("the node is closed");
    clearTimeout(this.#idleTimer);
    const listeners = resources.map(
      (resource): Listener => ({
        onMessage: (next) => (next === undefined ? onReleased(resource) : onReleased(resource, next)),
      }),
    );
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

  /** Ends all watches. Later ones are refused. */
  close(): void {
    this.#isClosed = true;
    const reason = new Error("the node is closed");
    for (const { subscription } of this.#channels.values()) subscription?.fail(reason);
    this.#channels.clear();
    this.#disconnect(reason);
  }

  #open(): RedisSubscriber {
    const opened = this.#openSubscriber(
      (channel, message) => {
        for (const listener of this.#channels.get(channel)?.listeners ?? []) listener.onMessage(message || undefined);
      },
      (error = new Error("the subscriber connection has ended")) => {
        if (this.#subscriber === opened) this.#forget(error);
      },
    );
    return opened;
  }

  /** Drops the connection, and fails the subscriptions over it. */
  #forget(reason: unknown): void {
    clearTimeout(this.#commandTimer);
    clearTimeout(this.#idleTimer);
    this.#commandTimer = undefined;
    this.#subscriber = undefined;
    this.#subscribed.clear();
    this.#outdated.clear();
    for (const [name, channel] of this.#channels) {
      this.#outdated.add(name);
      channel.subscription?.fail(reason);
      channel.subscription = undefined;
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
    this.#channels.get(name)?.subscription?.confirm();
  }

  /** Fails the subscription. The next watch of the channel tries again. */
  #fail(name: string, error: unknown): void {
    this.#outdated.delete(name);
    const channel = this.#channels.get(name);
    channel?.subscription?.fail(error);
    if (channel) channel.subscription = undefined;
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

  #join(name: string, listener: Listener): Promise<void> {
    let channel = this.#channels.get(name);
    if (channel === undefined) {
      channel = { listeners: new Set(), subscription: undefined };
      this.#channels.set(name, channel);
    }
    channel.listeners.add(listener);
    channel.subscription ??= newSubscription();
    this.#update(name);
    if (this.#subscribed.has(name)) channel.subscription.confirm();
    else this.#advance();
    return channel.subscription.confirmed;
  }

  #leave(name: string, listener: Listener): void {
    const channel = this.#channels.get(name);
    if (!channel?.listeners.delete(listener) || channel.listeners.size > 0) return;
    this.#channels.delete(name);
    this.#update(name);
    if (this.#subscriber !== undefined) this.#advance();
  }
}

function newSubscription(): Subscription {
  let confirm!: Subscription["confirm"];
  let fail!: Subscription["fail"];
  const confirmed = new Promise<void>((resolve, reject) => {
    confirm = resolve;
    fail = reject;
  });
  confirmed.catch(() => {}); // each waiting watch handles the rejection itself
  return { confirmed, confirm, fail };
}
