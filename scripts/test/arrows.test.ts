import { describe, expect, it } from "vitest";
import { upwardArrows } from "../claims/arrows.ts";

describe("upwardArrows()", () => {
  it("lets core depend on nothing", () => {
    expect(upwardArrows({ name: "@holdfast/core" })).toEqual([]);
    expect(upwardArrows({ name: "@holdfast/core", dependencies: { tslib: "2" } })).toHaveLength(1);
  });

  it("lets adapters depend on core, on redis, and on the client of their users", () => {
    const dependencies = { "@holdfast/core": "1", "@holdfast/redis": "1" };
    expect(upwardArrows({ name: "@holdfast/ioredis", dependencies, peerDependencies: { ioredis: "6" } })).toEqual([]);
  });

  it("lets the command line depend on adapters, and on nothing private", () => {
    const dependencies = { "@holdfast/core": "1", "@holdfast/ioredis": "1", "@holdfast/memory": "1", yargs: "18" };
    expect(upwardArrows({ name: "@holdfast/cli", dependencies })).toEqual([]);
    expect(upwardArrows({ name: "@holdfast/cli", dependencies: { "@holdfast/testkit": "1" } })).toHaveLength(1);
  });

  it("finds arrows between neighbours, upwards, and to private packages", () => {
    const neighbour = { name: "@holdfast/memory", dependencies: { "@holdfast/redis": "1" } };
    const upwards = { name: "@holdfast/redis", peerDependencies: { "@holdfast/ioredis": "1" } };
    const sideways = { name: "@holdfast/ioredis", optionalDependencies: { "@holdfast/testkit": "1" } };
    expect([neighbour, upwards, sideways].flatMap(upwardArrows)).toEqual([
      "@holdfast/memory may not depend on @holdfast/redis",
      "@holdfast/redis may not depend on @holdfast/ioredis",
      "@holdfast/ioredis may not depend on @holdfast/testkit",
    ]);
  });
});
