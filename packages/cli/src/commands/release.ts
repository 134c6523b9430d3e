import type { Inspection } from "@holdfast/core";
import type { Argv, CommandModule } from "yargs";
import { exitCodes } from "../exit-codes.ts";
import { asAsked, reasonOf } from "../failures.ts";
import { holderOf, inspectionText } from "../inspect/inspection-report.ts";
import { type LockService, withLockService } from "../lock-service.ts";
import { colors, complain, print, printable } from "../output.ts";
import { confirm } from "../release/confirm.ts";
import { type Release, releaseEverywhere } from "../release/release-everywhere.ts";
import { nodeTimeoutOf, only, readServerOptions, type ServerArguments, withServerOptions } from "../server-options.ts";
import { table } from "../table.ts";

interface ReleaseArguments extends ServerArguments {
  readonly resource: string;
  readonly owner: string;
  readonly yes: boolean | undefined;
}

/** `holdfast release`: frees by hand what a known owner holds. */
export const releaseCommand: CommandModule<object, ReleaseArguments> = {
  command: "release <resource>",
  describe: "Free a lock by hand that a known owner holds",
  builder: (yargs) =>
    withServerOptions(yargs)
      .usage(
        "$0 release <resource> --owner <value> [options]\n\n" +
          "Frees a lock by hand. Its holder is not stopped: it notices when it next extends the lock.",
      )
      .positional("resource", { type: "string", describe: "What is locked" })
      .options({
        owner: {
          type: "string",
          requiresArg: true,
          demandOption: true,
          describe: "The owner whose lock it is, as inspect shows it; that of nobody else is freed",
        },
        yes: { type: "boolean", describe: "Do not ask" },
      }) as unknown as Argv<ReleaseArguments>,
  handler: async (args) => {
    const servers = await readServerOptions(args, process.env);
    const owner = only("--owner", args.owner) ?? "";
    process.exitCode = await withLockService(servers, {}, async (service) =>
      release(args, owner, await nodeTimeoutOf(servers), service),
    );
  },
};

async function release(
  { resource, yes }: ReleaseArguments,
  owner: string,
  timeoutMs: number,
  { redlock, nodes, servers }: LockService,
): Promise<number> {
  const inspection = await asAsked(() => redlock.inspect(resource));
  print(inspectionText(inspection, servers));
  const holding = inspection.nodes.filter(({ view }) => view?.owner === owner).length;
  if (holding === 0 && inspection.state !== "unknown") {
    complain(`${printable(owner)} does not hold ${printable(resource)}: ${stateOf(inspection)}`);
    return inspection.state === "held" ? exitCodes.held : exitCodes.ok;
  }
  const question = `Release ${printable(resource)} on the ${holding} of ${nodes.length} servers that hold it for this owner?`;
  if (!yes) print("");
  if (!yes && !(await confirm(question))) {
    complain("nothing was released");
    return exitCodes.no;
  }

  const releases = await releaseEverywhere(nodes, resource, owner, timeoutMs);
  print(`\n${table(["server", "release"], releases.map(rowOf))}`);
  const answers = releases.filter(({ released }) => released !== undefined).length;
  if (answers > nodes.length / 2) return exitCodes.ok;
  complain(`${answers} of ${nodes.length} servers answered: on the others it ends with its ttl`);
  return exitCodes.noQuorum;
}

function stateOf(inspection: Inspection): string {
  return inspection.state === "held" ? `it is held by ${holderOf(inspection)}` : "it is free";
}

function rowOf({ node, released, error }: Release): string[] {
  if (error !== undefined) return [node, colors.red(reasonOf(error))];
  return [node, released ? colors.green("released") : "did not hold it"];
}
