import type { Unwatch } from "@holdfast/core/node";
import { digestOf } from "./table.ts";

/** What {@link Notifications} needs of a node. */
export interface NotificationSource {
  /** Opens a connection that listens to the channel. `onEnd` is called when it has ended by itself. */
  listen(onMessage: (payload: string) => void, onEnd: () => void): Promise<() => Promise<void>>;
  /** Sends a message to the channel, over another connection. */
  send(payload: string): Promise<unknown>;
  /** Makes the server announce releases of these rows for a while. */
  announce(names: readonly string[]): Promise<unknown>;
}

type OnReleased = (resource: string, next?: string) => void;

/** A watched row, and the listeners of all watches. */
interface Watched {
  readonly name: string;
  readonly listeners: Set<(next: string | undefined) => void>;
}

/** Messages name a row by its digest, in hexadecimal. */
const digestLength = 64;

/** How often watches are renewed and the connection is tested, in milliseconds. */
const renewalMs = 20_000;

/** How long the connection, or a message, may take, in milliseconds. */
const arrivalMs = 5_000;

/** How long watches are refused after the first test message did not arrive, in milliseconds. */
const refusalMs = 60_000;

/** The bounds of the random delay before a lost connection is opened again, in milliseconds. */
const reopenMs = { first: 50, most: 5_000 };

/** How long the connection stays open after the last watch, in milliseconds: the next one often follows soon. */
const idleMs = 1_000;

/**
 * The watches of one node, which share one channel and one connection. The first watch opens the connection. It is
 * opened again if it ends or no longer delivers messages, as long as there are watches.
 */
export class Notifications {
  readonly #source: NotificationSource;
  /** The watched rows, by digest. */
  readonly #rows = new Map<string, Watched>();
  /** The test messages that have not arrived yet. */
  readonly #tests = new Map<string, () => void>();
  /** The function that closes the connection; undefined while there is none and none is being opened. */
  #connection: Promise<() => Promise<void>> | undefined;
  /** Closes an idle connection, or opens a lost one again. */
  #timer: NodeJS.Timeout | undefined;
  #renewal: NodeJS.Timeout | undefined;
  /** Whether a test message has ever arrived: if so, a lost one is the fault of a connection. */
  #hasReceived = false;
  #refusedUntilMs = 0;
  #isClosed = false;

  /** @param source the server */
  constructor(source: NotificationSource) {
    this.#source = source;
  }

  /**
   * Watches rows until the returned function is called. Rejects if no message can be received.
   *
   * @param names the names of the rows
   * @param resources the resource of each row, in the same order
   * @param onReleased called with the resource of a message, and with the waiter that it names, if any
   */
  async watch(names: readonly string[], resources: readonly string[], onReleased: OnReleased): Promise<Unwatch> {
    const leaves = names.map((name, index) => {
      const resource = resources[index] as string;
      return this.#join(name, (next) => (next === undefined ? onReleased(resource) : onReleased(resource, next)));
    });
    const unwatch = async (): Promise<void> => {
      for (const leave of leaves) leave();
      if (this.#rows.size === 0) this.#schedule(idleMs, () => this.#disconnect());
    };
    try {
      await this.#connect();
      await this.#source.announce(names);
    } catch (error) {
      await unwatch();
      if (this.#connection === undefined) this.#reopen(); // for the other watches
      throw error;
    }
    return unwatch;
  }

  /** Ends all watches, and closes the connection. Later watches are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rows.clear();
    await this.#disconnect();
  }

  #join(name: string, listener: (next: string | undefined) => void): () => void {
    const digest = digestOf(name);
    const row = this.#rows.get(digest) ?? { name, listeners: new Set() };
    row.listeners.add(listener);
    this.#rows.set(digest, row);
    return () => {
      row.listeners.delete(listener);
      if (row.listeners.size === 0 && this.#rows.get(digest) === row) this.#rows.delete(digest);
    };
  }

  /** Opens the connection unless it is open or being opened. */
  async #connect(): Promise<void> {
    if (this.#isClosed) throw new Error("the node is closed");
    if (performance.now() < this.#refusedUntilMs) throw lostMessages();
    clearTimeout(this.#timer);
    if (this.#connection === undefined) {
      const connection = this.#open(() => {
        if (this.#connection === connection) this.#reopen();
      });
      this.#connection = connection;
      const onOpen = (): void => {
        if (this.#connection === connection) this.#renewal = setInterval(() => void this.#renew(), renewalMs).unref();
      };
      connection.then(onOpen, () => {
        if (this.#connection === connection) this.#connection = undefined;
      });
    }
    await this.#connection;
  }

  async #open(onEnd: () => void): Promise<() => Promise<void>> {
    const onMessage = (payload: string): void => this.#onMessage(payload);
    const opening = this.#source.listen(onMessage, onEnd);
    const late = (): Error => {
      opening.then((close) => close(), ignore);
      return new Error("the connection for notifications did not open");
    };
    const close = await within(arrivalMs, opening, late);
    try {
      await this.#test();
    } catch (error) {
      await close();
      throw error;
    }
    return close;
  }

  /** Sends a message to the channel, and rejects if it does not arrive. */
  async #test(): Promise<void> {
    const payload = `test ${crypto.randomUUID()}`;
    const arrival = new Promise<void>((resolve) => this.#tests.set(payload, resolve));
    try {
      await this.#source.send(payload);
      await within(arrivalMs, arrival, lostMessages);
      this.#hasReceived = true;
    } catch (error) {
      const mayBePooler = error instanceof LostMessagesError && !this.#hasReceived;
      if (mayBePooler) this.#refusedUntilMs = performance.now() + refusalMs;
      throw error;
    } finally {
      this.#tests.delete(payload);
    }
  }

  async #renew(): Promise<void> {
    const connection = this.#connection;
    try {
      await this.#source.announce([...this.#rows.values()].map(({ name }) => name));
      await this.#test();
    } catch {
      if (this.#connection === connection) this.#reopen();
    }
  }

  /** Replaces the connection after a delay, as long as there are watches. */
  #reopen(delayMs: number = reopenMs.first): void {
    void this.#disconnect();
    if (this.#rows.size === 0) return;
    this.#schedule(delayMs * (0.5 + Math.random()), async () => {
      try {
        await this.#connect();
        await this.#renew();
      } catch {
        this.#reopen(Math.min(2 * delayMs, reopenMs.most));
      }
    });
  }

  async #disconnect(): Promise<void> {
    clearTimeout(this.#timer);
    clearInterval(this.#renewal);
    const connection = this.#connection;
    this.#connection = undefined;
    const close = await connection?.catch(() => undefined);
    await close?.();
  }

  #schedule(delayMs: number, step: () => Promise<void>): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(() => void step(), delayMs).unref();
  }

  #onMessage(payload: string): void {
    this.#tests.get(payload)?.();
    const next = payload.slice(digestLength) || undefined;
    for (const listener of this.#rows.get(payload.slice(0, digestLength))?.listeners ?? []) listener(next);
  }
}

function ignore(): void {}

class LostMessagesError extends Error {}

function lostMessages(): Error {
  return new LostMessagesError(
    "notifications do not arrive: a PgBouncer in transaction mode drops them, so pass the node a `listener` that " +
      "connects directly",
  );
}

/** Settles like the promise, or rejects after `timeoutMs`. */
export async function within<T>(timeoutMs: number, promise: Promise<T>, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), timeoutMs);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
