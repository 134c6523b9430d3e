import { afterEach, expect, it, vi } from "vitest";
import { checkAll, expectNone } from "../lib/claim.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

it("checkAll() continues after a failure, prints the reason, and counts", async () => {
  const printed = vi.spyOn(console, "log").mockReturnValue();
  const counts = await checkAll([
    { claim: "all is well", check: async () => "very well" },
    { claim: "nothing is wrong", check: async () => expectNone(["this is", "that is"]) },
    { claim: "the end is reached", check: async () => {} },
  ]);

  expect(counts).toEqual({ passed: 2, failed: 1 });
  expect(printed.mock.calls.map(([text]) => text.replaceAll(/\d+\.\d s/g, "0 s"))).toEqual([
    "all is well … ok, 0 s: very well",
    "nothing is wrong … FAILED, 0 s\n    this is\n    that is",
    "the end is reached … ok, 0 s",
  ]);
});

it("checkAll() checks two claims at once if both can run beside others", async () => {
  vi.spyOn(console, "log").mockReturnValue();
  const seen: string[] = [];
  const claim = (name: string, besideOthers: boolean) => ({
    claim: name,
    besideOthers,
    async check() {
      seen.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(`${name} ends`);
    },
  });
  await checkAll([claim("a", true), claim("b", true), claim("c", true), claim("d", false), claim("e", true)]);
  const begins = (name: string) => seen.indexOf(`${name} begins`);
  const ends = (name: string) => seen.indexOf(`${name} ends`);
  expect(begins("b")).toBeLessThan(ends("a"));
  expect(begins("c")).toBeGreaterThan(Math.min(ends("a"), ends("b")));
  expect(begins("d")).toBeGreaterThan(Math.max(ends("a"), ends("b"), ends("c")));
  expect(begins("e")).toBeGreaterThan(ends("d"));
});
