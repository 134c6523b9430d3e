import { describe } from "vitest";
import { toolsFor } from "../../redis/test/adapter-tools.ts";
import { lostConnection } from "../../redis/test/connection-tests.ts";
import { hangingServer, serverWithoutScript } from "../../redis/test/server-tests.ts";
import { wakeUpLifetime, wakeUpReconnection } from "../../redis/test/wake-up-tests.ts";
import { over } from "./clients.ts";

const tools = toolsFor((port, options) => over(port, options));

describe("valkeyGlideNode() over a GlideClient", { timeout: 30_000 }, () => {
  describe("a connection that is lost", () => lostConnection(tools));
  describe("a server that hangs", () => hangingServer(tools));
  describe("a server without the script", () => serverWithoutScript(tools));
  describe("wake-ups after a lost connection", () => wakeUpReconnection(tools));
  describe("wake-ups", () => wakeUpLifetime(tools));
});
