import { timersOf } from "@holdfast/testkit";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type NotificationSource, Notifications } from "../src/notifications.ts";

/** A server that the test breaks. */
class Server implements NotificationSource {
  readonly listeners = new Set<(payload: string) => void>();
  readonly ends: (() => void)[] = [];
  opened = 0;
  isDown = false;
  isSilent = false;
  /** How long a connection takes to open, in milliseconds. */
  openMs = 0;

  async listen(onMessage: (payload: string) => void, onEnd: () => void): Promise<() => Promise<void>> {
    this.opened += 1;
    if (this.isDown) throw new Error("down");
    if (this.openMs > 0) await new Promise((resolve) => setTimeout(resolve, this.openMs));
    this.listeners.add(onMessage);
    this.ends.push(onEnd);
    return async () => void this.listeners.delete(onMessage);
  }

  async send(payload: string): Promise<void> {
    if (!this.isSilent) for (const listener of this.listeners) listener(payload);
  }

  async announce(): Promise<void> {}
}

describe("watch()", () => {
  let server: Server;
  let notifications: Notifications;
  const watch = (name: string) => notifications.watch([name], [name], () => {});
  beforeEach(() => {
    vi.useFakeTimers();
    server = new Server();
    notifications = new Notifications(server);
  });
  afterEach(async () => {
    await notifications.close();
    vi.useRealTimers();
  });

  test("watch() of another resource that fails leaves the lost connection to be opened again", async () => {
    await watch("a");
    server.isDown = true;
    server.listeners.clear();
    server.ends.at(-1)?.();
    await expect(watch("b")).rejects.toThrow("down");
    server.isDown = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(server.listeners.size).toBe(1);
  });

  test("watch() goes on at once when a connection that has delivered messages has lost one", async () => {
    await watch("a");
    server.isSilent = true;
    await vi.advanceTimersByTimeAsync(25_000); // the renewal, and the end of its patience
    server.isSilent = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(server.opened).toBeGreaterThan(1);
    expect(server.listeners.size).toBe(1);
    await watch("b");
  });

  test("watch() closes a connection that opens too late", async () => {
    server.openMs = 6_000;
    const watching = expect(watch("a")).rejects.toThrow("did not open");
    await vi.advanceTimersByTimeAsync(7_000);
    await watching;
    expect(server.listeners.size).toBe(0);
  });

  test("close() during the opening leaves no timer", async () => {
    const timers = timersOf("src/notifications.ts");
    server.openMs = 1_000;
    const watching = watch("a");
    const closing = notifications.close();
    await vi.advanceTimersByTimeAsync(1_000);
    await Promise.all([watching, closing]);
    expect(timers.started).toBeGreaterThan(0);
    expect(timers.pending.size).toBe(0);
  });
});
