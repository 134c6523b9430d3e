import { describe, expect, test } from "vitest";
import { toolsFor } from "../../redis/test/adapter-tools.ts";
import { fencedDeadlines, fencedReadsAndWrites } from "../../redis/test/fenced-store-tests.ts";
import { type ValkeyGlideClient, valkeyGlideFencedStore } from "../src/index.ts";
import { over } from "./clients.ts";

describe("valkeyGlideFencedStore() over a GlideClient", { timeout: 30_000 }, () => {
  const tools = toolsFor((port, options) => over(port, options));
  fencedReadsAndWrites(tools);
  fencedDeadlines(tools);
});

test("valkeyGlideFencedStore() throws a TypeError for what is not a client", () => {
  for (const client of [undefined, null, {}, "redis://localhost"]) {
    expect(() => valkeyGlideFencedStore(client as unknown as ValkeyGlideClient)).toThrow(TypeError);
  }
});
