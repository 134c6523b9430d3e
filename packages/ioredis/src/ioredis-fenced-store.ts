import { type FencedConnection, type FencedStore, type FencedStoreOptions, fencedStore } from "@holdfast/redis";
import { assertClient } from "./assert-client.ts";
import type { IoredisClient } from "./client.ts";
import { commandClassOf } from "./command-class.ts";
import { whyNotReady } from "./why-not-ready.ts";

/**
 * Makes a fenced store of an ioredis client: data in Redis that refuses the late writes of a holder that has lost its lock.
 * The client stays yours; it may be of another server than those of the locks. While it is not connected, calls reject.
 *
 * @param client a `Redis` or a `Cluster`
 * @param options see {@link FencedStoreOptions}
 * @throws {TypeError | RangeError} when the client or an option cannot be used, naming it and why
 */
export function ioredisFencedStore(client: IoredisClient, options: FencedStoreOptions = {}): FencedStore {
  assertClient(client, (keyPrefix) => `: use one without it, and put ${JSON.stringify(keyPrefix)} before each key`);
  return fencedStore(connectionOf(client), options);
}

function connectionOf(client: IoredisClient): FencedConnection {
  const Command = commandClassOf(client);
  if (Command === undefined) throw new TypeError("client must make commands as those of ioredis do");
  return {
    isReady: () => client.status === "ready",
    whyNotReady: whyNotReady(client),
    // Not `callBuffer`, which fails where a client makes pipelines by itself.
    runScript(command, script, key, args) {
      const sent = new Command(command.toLowerCase(), [script, "1", key, ...args], { replyEncoding: null });
      client.sendCommand(sent);
      return sent.promise;
    },
  };
}
