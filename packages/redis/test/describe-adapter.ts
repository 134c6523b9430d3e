import { describe } from "vitest";
import { type MakeClient, toolsFor } from "./adapter-tools.ts";
import { batches, batchesWithoutAnswer } from "./batch-tests.ts";
import {
  connectionLostForGood,
  firstClaimLost,
  fullSocket,
  lostConnection,
  notConnected,
  releaseWhileNotConnected,
} from "./connection-tests.ts";
import { silentSubscriber, watchLifetime, watchReconnection } from "./notification-tests.ts";
import { restartGuard } from "./restart-guard-tests.ts";
import { hangingServer, serverWithoutScript, silentServer } from "./server-tests.ts";
import { stalledProcess } from "./stall-tests.ts";

/**
 * Registers the tests that every adapter has to pass beyond the conformance suite: what happens to a connection, to the
 * server's script cache, and to watches.
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
      silentServer(tools);
    });
    describe("several operations at once", () => {
      batches(tools);
      batchesWithoutAnswer(tools);
    });
    describe("a server without the script", () => serverWithoutScript(tools));
    describe("a server that has restarted", () => restartGuard(tools));
    describe("a process that stands still", () => stalledProcess(tools));
    describe("watches after a lost connection", () => watchReconnection(tools));
    describe("watches over a silent connection", () => silentSubscriber(tools));
    describe("watches", () => watchLifetime(tools));
  });
}
