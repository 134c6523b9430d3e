import { describe } from "vitest";
import { batches } from "./adapter/batches.ts";
import {
  connectionLostForGood,
  firstClaimLost,
  fullSocket,
  lostConnection,
  notConnected,
  releaseWhileNotConnected,
} from "./adapter/connections.ts";
import { silentSubscriber, watchLifetime, watchReconnection } from "./adapter/notifications.ts";
import { hangingServer, serverWithoutScript } from "./adapter/servers.ts";
import { shards } from "./adapter/shards.ts";
import { stalledProcess } from "./adapter/stalls.ts";
import { type MakeClient, toolsFor } from "./adapter-tools.ts";

/**
 * Registers the tests that every adapter has to pass in addition to the conformance suite: about connections, the script
 * cache of the server, and watches.
 */
export function describeAdapter(name: string, makeClient: MakeClient): void {
  const tools = toolsFor(makeClient);
  describe(name, { timeout: 30_000 }, () => {
    describe("a client that is not connected", () => {
      notConnected(tools);
      releaseWhileNotConnected(tools);
    });
    describe("a connection that is lost", () => {
      lostConnection(tools);
      connectionLostForGood(tools);
      firstClaimLost(tools);
      fullSocket(tools);
    });
    describe("a server that hangs", () => {
      hangingServer(tools);
    });
    describe("several operations at once", () => batches(tools));
    describe("a server without the script", () => serverWithoutScript(tools));
    describe("a server of which it reaches one shard", () => shards(tools));
    describe("a process that stalls", () => stalledProcess(tools));
    describe("watches after a lost connection", () => watchReconnection(tools));
    describe("watches over a silent connection", () => silentSubscriber(tools));
    describe("watches", () => watchLifetime(tools));
  });
}
