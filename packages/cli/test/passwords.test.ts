import { startRedisServer } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";
import { runCli } from "./support/program.ts";

const password = "hunter2secret";

/** Starts a server with these arguments, and returns its address with a password. */
async function startUrl(args: readonly string[], user: string): Promise<string> {
  const server = await startRedisServer({ args });
  onTestFinished(() => server.stop());
  return `redis://${user}:${password}@127.0.0.1:${server.port}`;
}

const rename = (command: string): readonly string[] => ["--rename-command", command, ""];

test.each([
  ["AUTH", rename("AUTH")],
  ["HELLO", rename("HELLO")],
  ["AUTH and HELLO", [...rename("AUTH"), ...rename("HELLO")]],
])(
  "no command prints the password when a server does not know %s",
  async (_, args) => {
    const commands = [
      ["run", "x", "--wait", "300ms", "--verbose", "--", "true"],
      ["list"],
      ["list", "--json"],
      ["inspect", "x"],
      ["inspect", "x", "--json"],
      ["release", "x", "--owner", "alice:1", "--yes"],
      ["doctor"],
      ["doctor", "--json"],
    ];
    for (const user of ["", "somebody"]) {
      const env = { HOLDFAST_NODES: await startUrl(args, user) };
      const outcomes = await Promise.all(commands.map(async (words) => ({ words, ...(await runCli(words, { env })) })));
      for (const { words, out, err } of outcomes)
        expect([words, out + err]).toEqual([words, expect.not.stringMatching(/hunter2|beginning with/)]);
      const shown = outcomes.map(({ out, err }) => out + err).join("");
      if (args.includes("AUTH") && args.includes("HELLO")) expect(shown).toMatch(/unknown command/i);
    }
  },
  60_000,
);
