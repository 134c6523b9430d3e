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
import { restartGuard } from "./restart-guard-tests.ts";
import { hangingServer, serverWithoutScript, silentServer } from "./server-tests.ts";
import { stalledProcess } from "./stall-tests.ts";
import { silentSubscriber, wakeUpLifetime, wakeUpReconnection } from "./wake-up-tests.ts";

/**
 * Registers the tests that every adapter has to pass beyond the conformance suite: what happens to a connection, to the
 * server's script cache, and to wake-ups.
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
    describe("wake-ups after a lost connection", () => wakeUpReconnection(tools));
    describe("wake-ups over a silent connection", () => silentSubscriber(tools));
    describe("wake-ups", () => wakeUpLifetime(tools));
  });
}
