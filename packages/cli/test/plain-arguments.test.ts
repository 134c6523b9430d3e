import { expect, test } from "vitest";
import yargs from "yargs";
import { parserConfiguration } from "../src/command-line.ts";
import { readPlainRun, runCommand } from "../src/commands/run.ts";

/** What yargs hands to the command; undefined where it refuses. */
async function readByYargs(words: readonly string[]): Promise<Record<string, unknown> | undefined> {
  let seen: Record<string, unknown> | undefined;
  const handler = (args: object): void => {
    seen = { ...args };
  };
  const parser = yargs([...words])
    .command([{ ...runCommand, handler }])
    .parserConfiguration(parserConfiguration)
    .strict()
    .exitProcess(false)
    .showHelpOnFail(false)
    .fail(() => {});
  await Promise.resolve(parser.parseAsync()).catch(() => {});
  return seen;
}

const command = ["--", "echo", "--wait", "x"];

test.each([
  ["run", "x", ...command],
  ["run", "x", "y", "7", "z:1", ...command],
  ["run", "x", "--no-wait", "y", ...command],
  ["run", "--wait", "5s", "--ttl=1m", "x", ...command],
  ["run", "x", "-E", "1", ...command],
  ["run", "x", "--conflict-exit-code=007", ...command],
  ["run", "--node", "redis://a", "--node=b:1", "x", ...command],
  ["run", "--node", "redis://a", "x", "--prefix=", "--label", "", ...command],
  ["run", "x", "--memory", "--verbose", "--process-group", "--kill-after", "1", "--max-hold", "2", ...command],
  ["run", "x", "--node-timeout", "1s", "--restart-guard", "2s", "--tls-ca", "a", "--config", "b", ...command],
  ["run", "x", "--wait", "1s", "--", "a", "--", "b"],
])("readPlainRun() reads what yargs reads: %j", async (...words) => {
  const byYargs = (await readByYargs(words)) ?? {};
  const plain = readPlainRun(words) as unknown as Record<string, unknown>;
  expect(Object.keys(plain).length).toBeGreaterThan(1);
  for (const [name, value] of Object.entries(plain)) expect([name, value]).toEqual([name, byYargs[name]]);
  const others = Object.keys(byYargs).filter((name) => byYargs[name] !== undefined && !Object.hasOwn(plain, name));
  // Yargs names options in more than one way.
  expect(others.filter((name) => !/^(_|\$0|E|[a-z]+(-[a-z]+)+)$/.test(name))).toEqual([]);
});

test.each([
  [[]],
  [["run"]],
  [["run", "--", "true"]],
  [["run", "x"]],
  [["run", "x", "--"]],
  [["run", "x", "--help"]],
  [["run", "x", "--help", "--", "true"]],
  [["run", "x", "--version", "--", "true"]],
  [["run", "help", "--", "true"]],
  [["run", "x", "-", "--", "true"]],
  [["run", "'x'", "--", "true"]],
  [["run", "x", '--label="alice"', "--", "true"]],
  [["run", "x", "--frob", "--", "true"]],
  [["run", "x", "--killAfter", "1s", "--", "true"]],
  [["run", "x", "--ttl", "--", "true"]],
  [["run", "x", "--ttl", "1s", "--ttl", "2s", "--", "true"]],
  [["run", "x", "--wait", "1s", "--no-wait", "--", "true"]],
  [["run", "x", "--memory", "--node", "a", "--", "true"]],
  [["run", "x", "--memory=false", "--", "true"]],
  [["run", "x", "-E", "-1", "--", "true"]],
  [["run", "x", "-7", "--", "true"]],
  [["--memory", "run", "x", "--", "true"]],
  [["inspect", "x", "--", "true"]],
])("readPlainRun() leaves %j to yargs", (words) => {
  expect(readPlainRun(words)).toBe(undefined);
});
