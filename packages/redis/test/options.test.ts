import { describe, expect, test } from "vitest";
import { clusterName, type RedisNodeOptions, redisNode, serverName } from "../src/index.ts";
import { parseOptions } from "../src/options.ts";
import { connectionOver, startBench } from "./connection.ts";

const { client } = await startBench();
const make = (options: unknown) => () => redisNode(connectionOver(client), options as RedisNodeOptions);

describe("redisNode()", () => {
  test.each([
    [null, "the options of a lock node must be an object, not null"],
    ["lock:", "the options of a lock node must be an object, not a string"],
    [Symbol("s"), "the options of a lock node must be an object, not a symbol"],
    [[], "the options of a lock node must be an object, not an array"],
    [{ restartGuard: 30_000 }, "restartGuard is not an option of a lock node: did you mean restartGuardMs?"],
    [{ keyPrefix: "x" }, "did you mean prefix?"],
    [{ name: 5 }, "name must be a string, not 5"],
    [{ prefix: null }, "prefix must be a string, not null"],
    [{ fenceTtlMs: 1 }, "fenceTtlMs is not an option of a lock node"],
    [{ wakeUps: 1 }, "wakeUps must be a boolean, not 1"],
    [{ verifyServer: 0 }, "verifyServer must be a boolean, not 0"],
    [{ restartGuardMs: "1" }, "restartGuardMs must be a number, not a string"],
  ])("throws a TypeError for %j", (options, message) => {
    expect(make(options)).toThrow(TypeError);
    expect(make(options)).toThrow(message);
  });

  test.each([
    [{ name: "" }, "name must not be empty"],
    [{ prefix: "\udc00" }, "prefix must be well-formed Unicode"],
    [{ prefix: "holdfast:fence:" }, "prefix must not begin with holdfast:fence:: such keys are fence counters"],
    [{ prefix: "holdfast:sharers:x" }, "prefix must not begin with holdfast:sharers:: such keys are sets of sharers"],
    ...[-1, 1.5, NaN, Infinity].map(
      (restartGuardMs) => [{ restartGuardMs }, "restartGuardMs must be 0 or a positive integer"] as const,
    ),
  ] as [RedisNodeOptions, string][])("throws a RangeError for %o", (options, message) => {
    expect(make(options)).toThrow(RangeError);
    expect(make(options)).toThrow(message);
  });

  test("watches nothing without wakeUps", () => {
    expect(make({})().watch).toBeTypeOf("function");
    expect(make({ wakeUps: false })().watch).toBeUndefined();
  });

  test("uses the name of the connection by default", () => {
    expect(make(undefined)().name).toBe("under test");
    expect(make({ name: "a" })().name).toBe("a");
  });
});

describe("parseOptions()", () => {
  test("fills in the defaults, including those of undefined options", () => {
    const defaults = {
      name: "n",
      prefix: "lock:",
      wakeUps: true,
      restartGuardMs: 0,
      verifyServer: true,
    };
    expect(parseOptions({}, "n")).toEqual(defaults);
    const absent = { name: undefined, prefix: undefined, wakeUps: undefined, restartGuardMs: undefined };
    expect(parseOptions(absent as unknown as RedisNodeOptions, "n")).toEqual(defaults);
  });
});

describe("serverName()", () => {
  test("returns the host and port or the path, and the database unless it is 0", () => {
    expect(serverName({})).toBe("localhost:6379");
    expect(serverName({ host: "redis-1.internal", port: 7000, database: 0 })).toBe("redis-1.internal:7000");
    expect(serverName({ host: "::1", port: 7000, database: 2 })).toBe("[::1]:7000/2");
    expect(serverName({ path: "/run/redis.sock", host: "unused" })).toBe("/run/redis.sock");
  });
});

describe("clusterName()", () => {
  test("returns the address of a server, or eight random digits", () => {
    expect(clusterName({ host: "redis-1.internal", port: 7000 })).toBe("cluster redis-1.internal:7000");
    const names = Array.from({ length: 200 }, () => clusterName(undefined));
    for (const name of names) expect(name).toMatch(/^cluster [0-9a-f]{8}$/);
    // With four digits, two of so many names would often be equal.
    expect(new Set(names).size).toBe(200);
  });
});
