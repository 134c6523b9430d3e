import { describe, expect, test } from "vitest";
import { nemeses } from "../src/nemeses/index.ts";
import { type ChaosOptions, commandOf, parseCommand } from "../src/options.ts";

function parsed(...args: string[]): ChaosOptions {
  const command = parseCommand(args);
  if (command.kind !== "run") throw new Error(JSON.stringify(command));
  return command.options;
}

describe("parseCommand()", () => {
  test("parseCommand() has a default for every option, and draws a seed", () => {
    const { seed, adapters, ...options } = parsed();
    expect(options).toEqual({
      seconds: 20,
      nodes: 5,
      clients: 4,
      ttlMs: 1000,
      mode: "locks",
      nemeses,
      report: undefined,
    });
    expect(seed).toBeGreaterThanOrEqual(0);
    expect(adapters).toEqual([expect.stringContaining("ioredis"), expect.stringContaining("node-redis")]);
  });

  test("parseCommand() reads the output of commandOf(), also behind the -- that pnpm passes on", () => {
    const adapter = new URL(import.meta.url).pathname;
    const options = parsed("--", "--seconds=9", "--nodes", "3", "--clients", "2", "--ttl", "500", "--seed", "4");
    const chosen = parsed("--election", "--nemesis", "calm,delay", "--adapter", adapter, "--adapter", adapter);
    for (const each of [options, chosen, parsed("--membership", "--clients", "6")]) {
      const words = commandOf(each).split(" ").slice(2);
      expect(parsed(...words)).toEqual(each);
    }
  });

  test("parseCommand() has other defaults for a change of servers, and no nemeses", () => {
    const options = { seconds: 12, clients: 20, ttlMs: 3000, mode: "membership", nemeses: [] };
    expect(parsed("--membership")).toMatchObject(options);
  });

  test("parseCommand() has no nemeses for a soak", () => {
    expect(parsed("--soak", "--seconds", "600")).toMatchObject({ seconds: 600, mode: "soak", nemeses: [] });
  });

  test("parseCommand() prints the help, and lists all nemeses", () => {
    expect(parseCommand(["--help"])).toEqual({ kind: "print", text: expect.stringContaining("--adapter") });
    const list = parseCommand(["--list"]);
    for (const { name, description } of nemeses) {
      expect(list).toEqual({ kind: "print", text: expect.stringMatching(`  ${name} +`) });
      expect(list).toEqual({ kind: "print", text: expect.stringContaining(description) });
    }
  });

  test.each([
    [["--seconds", "0"], "--seconds must be a whole number from 1 to 86400"],
    [["--nodes", "2"], "--nodes must be a whole number from 3 to 9"],
    [["--clients", "1"], "--clients must be a whole number from 2 to 32"],
    [["--ttl", "1s"], "--ttl must be a whole number from 300 to 10000"],
    [["--seed", "-1"], "--seed"],
    [["--nemesis", "calm,godzilla"], 'there is no nemesis "godzilla"'],
    [["--adapter", "/no/such/file.ts"], "there is no file /no/such/file.ts"],
    [["--membership", "--nodes", "5"], "--nodes has no effect with --membership"],
    [["--membership", "--election"], "--election has no effect with --membership"],
    [["--soak", "--clients", "5"], "--clients has no effect with --soak"],
    [["--fast"], "--fast"],
  ])("parseCommand() refuses %j and names it", (args, message) => {
    expect(parseCommand(args)).toEqual({ kind: "bad", message: expect.stringContaining(message) });
  });
});
