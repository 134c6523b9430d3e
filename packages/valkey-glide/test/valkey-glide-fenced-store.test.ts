import { fencedDeadlines, fencedReadsAndWrites } from "@holdfast/redis-testkit/adapter/fenced-stores";
import { toolsFor } from "@holdfast/redis-testkit/adapter-tools";
import { describe, expect, test } from "vitest";
import { type ValkeyGlideClient, valkeyGlideFencedStore } from "../src/index.ts";
import { over } from "./clients.ts";

describe("valkeyGlideFencedStore() over a GlideClient", { timeout: 30_000 }, () => {
  const tools = toolsFor((port, options) => over(port, options));
  fencedReadsAndWrites(tools);
  fencedDeadlines(tools);
});

test("valkeyGlideFencedStore() throws a TypeError for a value that is not a client", () => {
  for (const client of [undefined, null, {}, "redis://localhost"]) {
    expect(() => valkeyGlideFencedStore(client as unknown as ValkeyGlideClient)).toThrow(TypeError);
  }
});
