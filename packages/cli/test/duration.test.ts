import { expect, test } from "vitest";
import { parseDuration } from "../src/options/option.ts";

test.each([
  ["0", 0],
  ["500ms", 500],
  ["30s", 30_000],
  ["1.5h", 5_400_000],
  ["2 m", 120_000],
  ["2 days", 172_800_000],
])("parseDuration() parses %s", (text, expected) => {
  expect(parseDuration("--ttl", text)).toBe(expected);
});

test.each(["", "30", "-1s", "s", "1e3s", "ten", "10 parsecs", "1s2", "Infinity", "NaNs", "99999999999999999999"])(
  "parseDuration() refuses %j, and names the option",
  (text) => {
    expect(() => parseDuration("--ttl", text)).toThrow(
      `--ttl must be a duration such as 500ms, 30s or 2m, not ${JSON.stringify(text)}`,
    );
  },
);

test("parseDuration() refuses more than the longest delay of a timer", () => {
  expect(() => parseDuration("--ttl", "30d")).toThrow("--ttl must be at most 25d, not 30d");
});
