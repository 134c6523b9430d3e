import { expect, test } from "vitest";
import { type DescribeLockNodeOptions, describeLockNode } from "../src/index.ts";

const create = async () => Promise.reject(new Error("not called"));

test("describeLockNode() throws for invalid options, and names them", () => {
  const wrong: [options: object, complaint: string][] = [
    [{}, "create must be a function"],
    [{ create, timeoutMs: 0 }, "timeoutMs must be a positive number"],
    [{ create, timeoutMs: Number.NaN }, "timeoutMs must be a positive number"],
    [{ create, repetition: 0 }, "repetition must be a number from 0.05 to 100, not 0"],
    [{ create, repetition: Number.POSITIVE_INFINITY }, "repetition must be a number from 0.05 to 100, not Infinity"],
    [{ create, cannot: { mutualExclusion: "it is hard" } }, "cannot.mutualExclusion is not one of the limits"],
    [{ create, cannot: { takeover: "" } }, "cannot.takeover must give the reason"],
    [{ create, cannot: { takeover: true } }, "cannot.takeover must give the reason"],
    [{ create, cannot: { longNames: "they are cut" } }, "cannot.longNames.max must be an integer of at least 64"],
    [{ create, cannot: { longNames: { max: 3, reason: "short" } } }, "must be an integer of at least 64, not 3"],
    [{ create, cannot: { manyResources: { max: 10 } } }, "cannot.manyResources.reason must give the reason"],
    [{ create, noOtherProcess: "" }, "noOtherProcess must give the reason"],
    [{ create, only: [] }, "only must name at least one test"],
    [{ create, only: ["locks never fail"] }, 'the suite has no test "locks never fail"'],
  ];
  for (const [options, complaint] of wrong) {
    expect(() => describeLockNode("node", options as DescribeLockNodeOptions)).toThrow(complaint);
  }
});
