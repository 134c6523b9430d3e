import type { Inspection } from "@holdfast/core";
import { type Command, serverCommand } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { withUsageErrors } from "../failures.ts";
import { holderOf, inspectionText, ownersOn, problemOf } from "../inspect/inspection-report.ts";
import { text, word } from "../options/option.ts";
import { colors, print, printable, printMessage } from "../output/print.ts";
import { table } from "../output/table.ts";
import { type LockService, withLockService } from "../servers/lock-service.ts";
import type { Server } from "../servers/server.ts";
import { haveQuorum, setsOf } from "../servers/sets.ts";
import { within } from "../within.ts";

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
    },
  },
  async ({ resource, owner = "" }, options) =>
    withLockService(options, {}, (service) => release(resource, owner, service)),
);

async function release(
  resource: string,
  owner: string,
  { redlock, nodes, servers, nodeTimeoutMs, joint }: LockService,
): Promise<number> {
  const inspection = await withUsageErrors(() => redlock.inspect(resource));
  print(inspectionText(inspection, servers));
  const isHolder = inspection.nodes.some(({ view }) => view !== null && ownersOn(view).includes(owner));
  if (!isHolder && inspection.state !== "unknown") {
    printMessage(`${printable(owner)} does not hold ${printable(resource)}: ${stateOf(inspection)}`);
    return inspection.state === "held" ? exitCodes.held : exitCodes.ok;
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
