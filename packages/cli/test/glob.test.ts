import { startRedisServer } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";
import { globExpression } from "../src/servers/server.ts";

const globs = ["", ...String.raw`* a* *b a?c a[bc]d a[^b]d a[b-d]e a[d-b]e a\*b a[\]]b a.b a|b [x`.split(" ")];
const texts = ["a", "ab", "abc", "abd", "acd", "ace", "ade", "a*b", "a]b", "a.b", "axb", "a|b", "x", "a\nb", "(", "^"];

test("globExpression() matches the same texts as a glob in Redis", async () => {
  const server = await startRedisServer();
  onTestFinished(() => server.stop());
  for (const text of texts) await server.command("SET", text, 1);
  for (const glob of globs) {
    const expression = globExpression(glob);
    const found = texts.filter((text) => expression.test(text)).sort();
    expect({ glob, found }).toEqual({ glob, found: ((await server.command("KEYS", glob)) as string[]).sort() });
  }
});

test("globExpression() takes characters, not bytes, for ?", () => {
  expect(["\u00e9", "\ud83d\ude00", "ab"].map((text) => globExpression("?").test(text))).toEqual([true, true, false]);
});
