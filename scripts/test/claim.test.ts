import { afterEach, expect, it, vi } from "vitest";
import { checkAll, expectNone } from "../lib/claim.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

it("checkAll() goes on after a failure, shows why, and counts", async () => {
  let printed = "";
  vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    printed += text;
    return true;
  });
  vi.spyOn(console, "log").mockImplementation((line) => {
    printed += `${line}\n`;
  });

  const counts = await checkAll([
    { claim: "all is well", check: async () => "very well" },
    { claim: "nothing is wrong", check: async () => expectNone(["this is", "that is"]) },
    { claim: "the end is reached", check: async () => {} },
  ]);

  expect(counts).toEqual({ passed: 2, failed: 1 });
  expect(printed.replaceAll(/\d+\.\d s/g, "0 s")).toBe(
    [
      "all is well … ok, 0 s: very well",
      "nothing is wrong … FAILED, 0 s",
      "    this is",
      "    that is",
      "the end is reached … ok, 0 s",
      "",
    ].join("\n"),
  );
});
