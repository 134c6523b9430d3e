import type { Unwatch } from "@holdfast/core";
import type { RedisConnection, RedisSubscriber } from "./connection.ts";

/** The watches of one node, which share one subscriber connection. */
export interface Notifications {
  /** Calls `onReleased` with the resource that stands where the channel of a message stands. */
  watch(
    channels: readonly string[],
    resources: readonly string[],
    onReleased: (resource: string, next?: string) => void,
  ): Promise<Unwatch>;
  /** Ends all watches, for good. */
  close(): void;
}

interface Listener {
  hear(next: string | undefined): void;
}

/** A channel that somebody watches. */
interface Channel {
  readonly listeners: Set<Listener>;
  /** Settles with the subscription; undefined when the last one failed, or its connection has ended. */
  subscription: Subscription | undefined;
}

interface Subscription {
  readonly confirmed: Promise<void>;
  readonly confirm: () => void;
  readonly fail: (reason: unknown) => void;
}

/** How long the server may take to confirm a command before the connection is replaced. */
const confirmTimeoutMs = 2_000;

/** How long the connection outlives the last watch, as the next one is often not far. */
const idleMs = 1_000;

/**
 * Makes the wake-ups of one node. Nothing is connected until somebody watches.
 *
 * No more than one command is under way, as clients lose count when a channel is left and joined again before the server
 * has answered. What else differs between the channels that are watched and those that the server has confirmed is sent
 * later, if it still differs then.
 */
export function createNotifications(openSubscriber: NonNullable<RedisConnection["openSubscriber"]>): Notifications {
  /** Those that are watched. */
  const channels = new Map<string, Channel>();
  /** Those that the server has confirmed. */
  const subscribed = new Set<string>();
  /** Those that are in one of the two, and not in the other. */
  const outdated = new Set<string>();
  let subscriber: RedisSubscriber | null = null;
  /** Of the command that is under way. */
  let commandTimer: NodeJS.Timeout | undefined;
  let idleTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const open = (): RedisSubscriber => {
    const opened = openSubscriber(
      (channel, message) => {
        for (const listener of channels.get(channel)?.listeners ?? []) listener.hear(message || undefined);
      },
      (error = new Error("the connection that listens has ended")) => {
        if (subscriber === opened) forget(error);
      },
    );
    return opened;
  };
  const forget = (reason: unknown): void => {
    clearTimeout(commandTimer);
    clearTimeout(idleTimer);
    commandTimer = undefined;
    subscriber = null;
    subscribed.clear();
    outdated.clear();
    for (const [name, channel] of channels) {
      outdated.add(name);
      channel.subscription?.fail(reason);
      channel.subscription = undefined;
    }
  };
  const disconnect = (reason: Error): void => {
    const closing = subscriber;
    forget(reason);
    closing?.close();
  };
  const update = (name: string): void => {
    if (channels.has(name) === subscribed.has(name)) outdated.delete(name);
    else outdated.add(name);
  };
  /** Sends the next command. */
  const advance = (): void => {
    const [name] = outdated;
    if (name === undefined || commandTimer !== undefined) return;
    subscriber ??= open();
    const { subscribe, unsubscribe } = subscriber;
    const isJoining = channels.has(name);
    outdated.delete(name);
    subscribed.delete(name); // from now on, nobody who joins may rely on it
    // What has arrived while the process stood still counts.
    const timer = setTimeout(() => setImmediate(replaceIfLate), confirmTimeoutMs).unref();
    commandTimer = timer;
    const replaceIfLate = (): void => {
      if (commandTimer === timer) replace();
    };
    const ended = (settle: () => void): void => {
      if (commandTimer !== timer) return;
      clearTimeout(timer);
      commandTimer = undefined;
      if (isJoining) settle();
      advance();
    };
    Promise.resolve(name)
      .then(isJoining ? subscribe : unsubscribe)
      .then(
        () => ended(() => confirm(name)),
        (error) => ended(() => fail(name, error)),
      );
  };
  const confirm = (name: string): void => {
    subscribed.add(name);
    update(name);
    channels.get(name)?.subscription?.confirm();
  };
  /** The next one who watches it tries again. */
  const fail = (name: string, error: unknown): void => {
    outdated.delete(name);
    const channel = channels.get(name);
    channel?.subscription?.fail(error);
    if (channel) channel.subscription = undefined;
  };
  /** Where a connection is silent, another one may not be. Those who have waited for it are told, and leave. */
  const replace = (): void => {
    disconnect(new Error(`the server did not confirm the subscription within ${confirmTimeoutMs} ms`));
    setImmediate(() => {
      try {
        advance();
      } catch {
        // The next one who watches tries again, and hears why.
      }
    });
  };
  const join = (name: string, listener: Listener): Promise<void> => {
    let channel = channels.get(name);
    if (channel === undefined) {
      channel = { listeners: new Set(), subscription: undefined };
      channels.set(name, channel);
    }
    channel.listeners.add(listener);
    channel.subscription ??= newSubscription();
    update(name);
    if (subscribed.has(name)) channel.subscription.confirm();
    else advance();
    return channel.subscription.confirmed;
  };
  const leave = (name: string, listener: Listener): void => {
    const channel = channels.get(name);
    if (!channel?.listeners.delete(listener) || channel.listeners.size > 0) return;
    channels.delete(name);
    update(name);
    if (subscriber !== null) advance();
  };

  return {
    async watch(names, resources, onReleased) {
      if (isClosed) throw new Error("the node is closed");
      clearTimeout(idleTimer);
      const listeners = resources.map(
        (resource): Listener => ({
          hear: (next) => (next === undefined ? onReleased(resource) : onReleased(resource, next)),
        }),
      );
      const unwatch = async (): Promise<void> => {
        for (const [index, listener] of listeners.entries()) leave(names[index] as string, listener);
        if (channels.size > 0 || subscriber === null) return;
        clearTimeout(idleTimer);
        idleTimer = setTimeout(() => disconnect(new Error("nobody watches")), idleMs).unref();
      };
      try {
        await Promise.all(listeners.map((listener, index) => join(names[index] as string, listener)));
      } catch (error) {
        await unwatch();
        throw error;
      }
      return unwatch;
    },
    close() {
      isClosed = true;
      const reason = new Error("the node is closed");
      for (const { subscription } of channels.values()) subscription?.fail(reason);
      channels.clear();
      disconnect(reason);
    },
  };
}

function newSubscription(): Subscription {
  let confirm!: Subscription["confirm"];
  let fail!: Subscription["fail"];
  const confirmed = new Promise<void>((resolve, reject) => {
    confirm = resolve;
    fail = reject;
  });
  confirmed.catch(() => {}); // those who wait hear of it
  return { confirmed, confirm, fail };
}
