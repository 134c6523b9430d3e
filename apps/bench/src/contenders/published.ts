/** A hand-over with ioredis alone: release, publish, claim. The reference for the cost of a hand-over between processes. */

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import { type Connect, ttlMs } from "./contender.ts";
import { compareAndDelete } from "./raw.ts";
import { atQuorum, quorumOf } from "./vote.ts";

const releaseAndPublish =
  'if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end redis.call("del", KEYS[1]) return redis.call("publish", KEYS[1], "")';

/** A waiter whose claim failed after a release retries after a random part of this time, because the vote was split. */
const retryMaxMs = 20;
/** How long a waiter relies on messages alone. */
const messageTimeoutMs = 1_000;

/** Connects twice to each server: once for commands, once for messages. One waiter for each key. */
export const connect: Connect = async (ports) => {
  const clients = await connectIoredis(ports);
  const subscribers = await connectIoredis(ports);
  const load = (script: string) => Promise.all(clients.map((client) => client.script("LOAD", script)));
  const [undo] = await load(compareAndDelete);
  const [release] = await load(releaseAndPublish);
  const run = (sha: unknown, key: string, value: string) =>
    atQuorum(clients, (client) => client.evalsha(String(sha), 1, key, value));
  const claim = (key: string, value: string) =>
    atQuorum(clients, (client) => client.set(key, value, "PX", ttlMs, "NX"));

  /** How many servers have published a release of the key since the last quorum of them did. */
  const published = new Map<string, number>();
  const waiters = new Map<string, () => void>();
  for (const subscriber of subscribers) {
    subscriber.on("message", (key: string) => {
      const count = (published.get(key) ?? 0) + 1;
      published.set(key, count);
      if (count === quorumOf(ports.length)) waiters.get(key)?.();
    });
  }
  const nextRelease = (key: string): Promise<void> =>
    new Promise((resolve) => {
      published.set(key, 0);
      waiters.set(key, resolve);
    });

  return {
    async acquire(key) {
      if (!published.has(key)) await Promise.all(subscribers.map((subscriber) => subscriber.subscribe(key)));
      const value = randomUUID();
      for (let isFirst = true; ; isFirst = false) {
        const released = nextRelease(key);
        try {
          await claim(key, value);
          return () => run(release, key, value);
        } catch {
          await run(undo, key, value).catch(() => {});
        }
        const timeout = new AbortController();
        const timeoutMs = isFirst ? messageTimeoutMs : Math.random() * retryMaxMs;
        await Promise.race([released, sleep(timeoutMs, undefined, { signal: timeout.signal }).catch(() => {})]);
        timeout.abort();
      }
    },
    close() {
      disconnect([...clients, ...subscribers]);
    },
  };
};
