import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import type { Inspection } from "@holdfast/core";
import { type Command, serverCommand } from "../command.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { withUsageErrors } from "../failures.ts";
import { holderOf, inspectionText, ownersOn, problemOf } from "../inspect/inspection-report.ts";
import { flag, text, word } from "../options/option.ts";
import { colors, print, printable, printMessage } from "../output/print.ts";
import { table } from "../output/table.ts";
import { type LockService, withLockService } from "../servers/lock-service.ts";
import type { Server } from "../servers/server.ts";
import { haveQuorum, setsOf } from "../servers/sets.ts";
import { within } from "../within.ts";

interface ReleaseArguments {
  readonly resource: string;
  readonly owner: string;
  readonly yes: boolean;
}

/** `holdfast release`: releases a lock of a known owner by hand. */
export const releaseCommand: Command = serverCommand(
  {
    line: "release <resource>",
    rest: "--owner <value> [options]",
    describe: "Release a lock of a known owner by hand",
    text: "Releases a lock by hand. Its holder keeps running until it next extends the lock, and notices the loss.",
    words: { resource: word("The locked resource") },
    options: {
      owner: text("The owner of the lock, as inspect shows it; locks of other owners are not released", {
        isRequired: true,
      }),
      yes: flag("Do not ask for confirmation"),
    },
  },
  async ({ owner = "", ...args }, servers) =>
    withLockService(servers, {}, (service) => release({ ...args, owner }, service)),
);

async function release(
  { resource, owner, yes }: ReleaseArguments,
  { redlock, nodes, servers, nodeTimeoutMs, joint }: LockService,
): Promise<number> {
  const inspection = await withUsageErrors(() => redlock.inspect(resource));
  print(inspectionText(inspection, servers));
  const holding = inspection.nodes.filter(({ view }) => view !== null && ownersOn(view).includes(owner)).length;
  if (holding === 0 && inspection.state !== "unknown") {
    printMessage(`${printable(owner)} does not hold ${printable(resource)}: ${stateOf(inspection)}`);
    return inspection.state === "held" ? exitCodes.held : exitCodes.ok;
  }
  const question = `Release ${printable(resource)} on the ${holding} of ${nodes.length} servers that hold it for this owner?`;
  if (!yes) print("");
  if (!yes && !(await confirm(question))) {
    printMessage("nothing was released");
    return exitCodes.no;
  }

  const request = { resources: [resource], owner, timeoutMs: nodeTimeoutMs };
  const releases = await Promise.allSettled(nodes.map(async (node) => within(nodeTimeoutMs, node.release(request))));
  const rows = nodes.map(({ name }, index) => [name, outcomeOf(releases[index] as ReleaseOf, servers[index])]);
  print(`\n${table(["server", "release"], rows)}`);
  const hasReplied = ({ status }: ReleaseOf): boolean => status === "fulfilled";
  if (haveQuorum(setsOf(releases, joint), hasReplied)) return exitCodes.ok;
  const replies = releases.filter(hasReplied).length;
  printMessage(`${replies} of ${nodes.length} servers replied: on the others, the lock ends with its ttl`);
  return exitCodes.noQuorum;
}

/** Whether a server held the lock for the owner and has released it, or why it did not reply. */
type ReleaseOf = PromiseSettledResult<{ readonly released: boolean }>;

function outcomeOf(release: ReleaseOf, server: Server | undefined): string {
  if (release.status === "rejected") return colors.red(problemOf(release.reason, server));
  return release.value.released ? colors.green("released") : "did not hold it";
}

function stateOf(inspection: Inspection): string {
  return inspection.state === "held" ? `it is held by ${holderOf(inspection)}` : "it is free";
}

/**
 * Asks for confirmation on the terminal. Ctrl-C and Ctrl-D mean no.
 *
 * @throws {UsageError} if there is no terminal
 */
async function confirm(question: string): Promise<boolean> {
  if (!(process.stdin.isTTY && process.stderr.isTTY)) {
    throw new UsageError("cannot ask for confirmation without a terminal: add --yes to release the lock");
  }
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const silence = once(reader, "close").then(() => "");
    const answer = await Promise.race([reader.question(`${question} [y/N] `).catch(() => ""), silence]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    reader.close();
  }
}
