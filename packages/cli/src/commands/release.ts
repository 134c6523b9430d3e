import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import type { Inspection, LockNode } from "@holdfast/core";
import type { Argv, CommandModule } from "yargs";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { asAsked, reasonOf } from "../failures.ts";
import { holderOf, inspectionText } from "../inspect/inspection-report.ts";
import {
  nodeTimeoutOf,
  only,
  readServerOptions,
  type ServerArguments,
  withServerOptions,
} from "../options/server-options.ts";
import { colors, complain, print, printable } from "../output/print.ts";
import { table } from "../output/table.ts";
import { type LockService, withLockService } from "../servers/lock-service.ts";
import { within } from "../within.ts";

interface ReleaseArguments extends ServerArguments {
  readonly resource: string;
  readonly owner: string;
  readonly yes: boolean | undefined;
}

/** What one node said to a release. */
interface Release {
  readonly node: string;
  /** Whether it held the lock for the owner, and has freed it; undefined if it did not answer. */
  readonly released: boolean | undefined;
  readonly error: Error | undefined;
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

/**
 * Asks a person. Only a clear yes is one; no answer (Ctrl-C, Ctrl-D) is none.
 *
 * @throws {UsageError} where there is no terminal to ask at
 */
async function confirm(question: string): Promise<boolean> {
  if (!(process.stdin.isTTY && process.stderr.isTTY)) {
    throw new UsageError("nobody can be asked without a terminal: add --yes to release it");
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

/** Asks all nodes to free what one owner holds there, and nothing that another owner holds. */
async function releaseEverywhere(
  nodes: readonly LockNode[],
  resource: string,
  owner: string,
  timeoutMs: number,
): Promise<readonly Release[]> {
  const request = { resources: [resource], owner, timeoutMs };
  return Promise.all(
    nodes.map(async (node): Promise<Release> => {
      try {
        const { released } = await within(timeoutMs, node.release(request));
        return { node: node.name, released, error: undefined };
      } catch (error) {
        return { node: node.name, released: undefined, error: error as Error };
      }
    }),
  );
}
