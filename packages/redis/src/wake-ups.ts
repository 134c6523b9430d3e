import type { Unwatch } from "@holdfast/core";
import type { RedisConnection, RedisSubscriber } from "./connection.ts";

/** The watches of one node, which share one subscriber connection. */
export interface WakeUps {
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
  /** Settles with the subscription; null when it failed, or the connection it was made on has ended. */
  subscription: Promise<unknown> | null;
}

/** How long `watch` waits for the server to confirm. */
const subscribeTimeoutMs = 2_000;

/** How long the connection outlives the last watch, as the next one is often not far. */
const idleMs = 1_000;

/** Makes the wake-ups of one node. Nothing is connected until somebody watches. */
export function createWakeUps(openSubscriber: NonNullable<RedisConnection["openSubscriber"]>): WakeUps {
  const channels = new Map<string, Channel>();
  let subscriber: RedisSubscriber | null = null;
  let lastCommand: Promise<unknown> = Promise.resolve();
  let idleTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const open = (): RedisSubscriber => {
    lastCommand = Promise.resolve();
    const opened = openSubscriber(
      (channel, message) => {
        for (const listener of channels.get(channel)?.listeners ?? []) listener.hear(message || undefined);
      },
      () => {
        if (subscriber === opened) forget();
      },
    );
    return opened;
  };
  // One command at a time: clients lose count when a channel is left and joined again before the server has answered.
  const inTurn = (send: () => Promise<unknown>): Promise<unknown> => {
    const sent = lastCommand.then(send);
    lastCommand = sent.catch(() => {});
    return sent;
  };
  const forget = (): void => {
    clearTimeout(idleTimer);
    subscriber = null;
    for (const channel of channels.values()) channel.subscription = null;
  };
  const disconnect = (): void => {
    const closing = subscriber;
    forget();
    closing?.close();
  };
  const join = (name: string, listener: Listener): Promise<unknown> => {
    let channel = channels.get(name);
    if (channel === undefined) {
      channel = { listeners: new Set(), subscription: null };
      channels.set(name, channel);
    }
    channel.listeners.add(listener);
    channel.subscription ??= subscribe(name, channel);
    return channel.subscription;
  };
  const subscribe = (name: string, channel: Channel): Promise<unknown> => {
    subscriber ??= open();
    const { subscribe } = subscriber;
    const subscription = inTurn(() => subscribe(name));
    subscription.catch(() => {
      if (channel.subscription === subscription) channel.subscription = null;
    });
    return subscription;
  };
  const leave = (name: string, listener: Listener): void => {
    const channel = channels.get(name);
    if (!channel?.listeners.delete(listener) || channel.listeners.size > 0) return;
    channels.delete(name);
    if (channel.subscription === null || subscriber === null) return;
    const { unsubscribe } = subscriber;
    // Fails when the connection has ended, which comes to the same.
    inTurn(() => unsubscribe(name)).catch(() => {});
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
        idleTimer = setTimeout(disconnect, idleMs).unref();
      };
      try {
        await inTime(Promise.all(listeners.map((listener, index) => join(names[index] as string, listener))));
      } catch (error) {
        await unwatch();
        throw error;
      }
      return unwatch;
    },
    close() {
      isClosed = true;
      channels.clear();
      disconnect();
    },
  };
}

/** Rejects when the server has not confirmed in time, so that no caller waits for a server that hangs. */
async function inTime(subscribed: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    const error = new Error(`the server did not confirm the subscription within ${subscribeTimeoutMs} ms`);
    timer = setTimeout(reject, subscribeTimeoutMs, error).unref();
  });
  try {
    await Promise.race([subscribed, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
