import { fuzzSeed, isNightly } from "@holdfast/testkit";
import { expect, test } from "vitest";
import yargs from "yargs";
import type { Command, Given } from "../src/command.ts";
import { makeParser } from "../src/command-line.ts";
import { readPlainRun, runCommand } from "../src/commands/run.ts";

/** Returns the arguments that yargs passes to `run`; undefined if it refuses them, or does something else. */
async function readByYargs(words: readonly string[]): Promise<Given | undefined> {
  let seen: Given | undefined;
  const inert = ({ line }: Command, given: Given): void => {
    if (line === runCommand.line) seen = given;
  };
  // With a callback, yargs does not print.
  await makeParser(yargs, words, inert)
    .parseAsync([...words], {}, () => {})
    .catch(() => {});
  return seen;
}

/** Expects both to have parsed the same arguments. */
function expectSame(plain: object, byYargs: Given | undefined, words: readonly string[]): void {
  for (const [name, value] of Object.entries(plain))
    expect([words, name, byYargs?.[name]]).toEqual([words, name, value]);
  const others = Object.keys(byYargs ?? {}).filter(
    (name) => byYargs?.[name] !== undefined && !Object.hasOwn(plain, name),
  );
  // Yargs adds aliases and names in camel case.
  expect([words, others.filter((name) => !/^(_|\$0|E|[a-z]+([A-Z][a-z]+)+)$/.test(name))]).toEqual([words, []]);
}

const command = ["--", "echo", "--wait", "x"];

test.each([
  ["run", "x", ...command],
  ["run", "x", "y", "7", "z:1", ...command],
  ["run", "x", "--no-wait", "y", ...command],
  ["run", "--ticket", "ticket1.WyJ4Il0", ...command],
  ["run", "--wait", "5s", "--ttl=1m", "x", ...command],
  ["run", "x", "-E", "1", ...command],
  ["run", "x", "--conflict-exit-code=007", ...command],
  ["run", "--node", "redis://a", "--node=b:1", "x", ...command],
  ["run", "--node", "redis://a", "x", "--prefix=", "--label", "", ...command],
  ["run", "x", "--memory", "--verbose", "--process-group", "--kill-after", "1", "--max-hold", "2", ...command],
  ["run", "x", "--node-timeout", "1s", "--restart-guard", "2s", "--tls-ca", "a", "--config", "b", ...command],
  ["run", "x", "--wait", "1s", "--", "a", "--", "b"],
])("readPlainRun() parses like yargs: %j", async (...words) => {
  const plain = readPlainRun(words) ?? {};
  expect(Object.keys(plain).length).toBeGreaterThan(1);
  expectSame(plain, await readByYargs(words), words);
});

test.each([
  "",
  "run",
  "run -- true",
  "run x",
  "run x --",
  "run x --help",
  "run x --help -- true",
  "run x --version -- true",
  "run help -- true",
  "run x - -- true",
  "run 'x' -- true",
  'run x --label="alice" -- true',
  "run x --frob -- true",
  "run x --killAfter 1s -- true",
  "run x --ttl -- true",
  "run x --ttl 1s --ttl 2s -- true",
  "run x --wait 1s --no-wait -- true",
  "run x --memory --node a -- true",
  "run x --memory=false -- true",
  "run x --memory false -- true",
  "run x --no-wait FALSE -- true",
  "run x --process-group True y -- true",
  "run x --label true -- true",
  "run x -E -1 -- true",
  "run x -E=5 -- true",
  "run x -E5 -- true",
  "run x -Ea b -- true",
  "run x -7 -- true",
  "--memory run x -- true",
  "inspect x -- true",
])("readPlainRun() leaves %j to yargs", (line) => {
  expect(readPlainRun(line === "" ? [] : words(line))).toBe(undefined);
});

/** Returns a generator of numbers from 0 to 1 that depend on the seed alone. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The number of random command lines. */
const lines = Number(process.env.HOLDFAST_FUZZ_RUNS ?? (isNightly ? 500 : 100));

/** Splits words at spaces. */
const words = (text: string): string[] => text.split(" ");

const flags = words("--memory --no-wait --process-group --verbose");
const options = words(
  "--wait --ttl --label --prefix --node --max-hold --kill-after --conflict-exit-code -E --config --old --new --generation " +
    "--node-timeout --restart-guard --tls-ca --tls-cert --tls-key",
);
const oddOptions = words(
  "--no-memory --no-verbose --no-process-group --no-label --no-no-wait --noWait --processGroup --killAfter " +
    "--nodeTimeout --tls-c --resource --help --version --get-yargs-completions -x -EE -e -E5 -E=5 --E --_ --$0 " +
    "--__proto__ -- --- --= - -7 -.5 --node.x --memory.x --constructor",
);
const values = [
  ...words("a b:1 5s 1 007 0x10 1e3 .5 -1 -1.5 +1 NaN Infinity true false True FALSE null undefined ' \" 'a' a\"b"),
  ...words("= a=b =a a= \\ help version run list inspect completion redis://a:6379 redis://u:p@h/1?x=-y {x} * a,b"),
  ...words("__proto__ constructor _ $0 é no-wait E [a] a.b @ a--b"),
  ...["", " ", "a b", '"a b"', "\n", "a\nb", "\u2028", "\ufeff", "\t", "\0"],
];

/** Returns a random command line of `run`, which is plain more often than not. */
function drawLine(random: () => number): string[] {
  const pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)] as string;
  const value = (): string => (random() < 0.5 ? pick(["a", "b:1", "5s", "x"]) : pick(values));
  const line = ["run"];
  const draws: readonly (() => readonly string[])[] = [
    () => [value()],
    () => [pick(flags)],
    () => [pick(options), value()],
    () => [`${pick(options)}=${value()}`],
    () => [random() < 0.3 ? `${pick(flags)}=${value()}` : pick(flags), value()],
    () => (random() < 0.3 ? [pick(oddOptions)] : random() < 0.2 ? [`${pick(oddOptions)}=${value()}`] : [value()]),
  ];
  for (let parts = 1 + Math.floor(random() * 4); parts > 0; parts--) {
    line.push(...(draws[Math.floor(random() * draws.length)] as () => readonly string[])());
  }
  return random() < 0.02 ? line : [...line, "--", value(), value()];
}

test("readPlainRun() parses random command lines like yargs, or leaves them to yargs", async () => {
  const random = randomNumbers(fuzzSeed);
  let plainLines = 0;
  for (let line = 0; line < lines; line++) {
    const words = drawLine(random);
    const plain = readPlainRun(words);
    if (plain === undefined) continue;
    plainLines += 1;
    expectSame(plain, await readByYargs(words), words);
  }
  expect(plainLines).toBeGreaterThan(lines / 10);
}, 60_000);
