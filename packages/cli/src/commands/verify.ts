import { type Verification, verify } from "@holdfast/core/verify";
import type { Argv, CommandModule } from "yargs";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { withUsageErrors } from "../failures.ts";
import { problemOf } from "../inspect/inspection-report.ts";
import { readServerOptions, type ServerArguments, withServerOptions } from "../options/server-options.ts";
import { colors, print, printable } from "../output/print.ts";
import { table } from "../output/table.ts";
import { withLockService } from "../servers/lock-service.ts";
import type { Server } from "../servers/server.ts";

interface VerifyArguments extends ServerArguments {
  readonly resource: string;
  readonly fence: string;
  readonly json: boolean | undefined;
}

const codes = { current: exitCodes.ok, superseded: exitCodes.no, unknown: exitCodes.noQuorum };

/** `holdfast verify`: tells whether a fencing token is still the newest one. */
export const verifyCommand: CommandModule<object, VerifyArguments> = {
  command: "verify <resource> <fence>",
  describe: "Tell whether a fencing token is still the newest one",
  builder: (yargs) =>
    withServerOptions(yargs)
      .usage(
        "$0 verify <resource> <fence> [options]\n\n" +
          "Tells whether a lock with a larger fencing token has been granted. The lock itself may have ended.",
      )
      .positional("resource", { type: "string", describe: "The resource" })
      .positional("fence", { type: "string", describe: "The fencing token, as in HOLDFAST_FENCE" })
      .options({
        json: { type: "boolean", describe: "Print one line of JSON" },
      }) as unknown as Argv<VerifyArguments>,
  handler: async (args) => {
    const fence = parseFence(args.fence);
    const servers = await readServerOptions(args, process.env);
    process.exitCode = await withLockService(servers, {}, async (service) => {
      const verification = await withUsageErrors(() => verify(service.redlock, args.resource, fence));
      print(args.json ? verificationJson(verification, service.servers) : textOf(verification, service.servers));
      return codes[verification.state];
    });
  },
};

function parseFence(text: string): number {
  const fence = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(fence) && fence > 0) return fence;
  throw new UsageError("a fence must be a positive integer below 2^53, as in HOLDFAST_FENCE");
}

function textOf(verification: Verification, servers: readonly Server[]): string {
  const rows = verification.nodes.map(({ node, view, error }, index) => [
    node,
    view === null ? "" : String(view.fence),
    error === null ? "" : colors.red(problemOf(error, servers[index])),
  ]);
  const verdict = `${verification.fence} ${verdictOf(verification)}`;
  return [verdict, "", table(["server", "fence", ""], rows)].join("\n");
}

function verdictOf({ state, resource, newest, nodes, sets }: Verification): string {
  const name = colors.bold(printable(resource));
  if (state === "current") return `is ${colors.green("current")}: no newer lock on ${name} was granted`;
  if (state === "superseded") return `is ${colors.yellow("superseded")}: a newer fence of ${name} is ${newest}`;
  const answered = nodes.filter(({ view }) => view !== null).map(({ node }) => node);
  const replies = answered.length;
  if (sets.every((set) => set.nodes.filter((node) => answered.includes(node)).length >= set.quorum))
    return `is ${colors.red("unknown")}: no server that answered has granted it for ${name}`;
  return `cannot be verified: ${replies} of ${nodes.length} servers ${colors.red("answered")}, too few to tell`;
}

/** Returns one line of JSON. Keys may be added, but existing ones do not change. */
function verificationJson({ nodes, ...verification }: Verification, servers: readonly Server[]): string {
  const { resource, fence, state, newest } = verification;
  const nodeRecords = nodes.map(({ node, view, error }, index) => ({
    node,
    fence: view?.fence ?? null,
    error: error === null ? null : problemOf(error, servers[index]),
  }));
  return JSON.stringify({ resource, fence, state, newest, nodes: nodeRecords });
}
