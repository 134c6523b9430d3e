import { type Verification, verify } from "@holdfast/core/verify";
import type { Argv, CommandModule } from "yargs";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { withUsageErrors } from "../failures.ts";
import { ownersOn, problemOf, rounded, timeOf } from "../inspect/inspection-report.ts";
import { json } from "../options/definitions.ts";
import { readServerOptions, type ServerArguments, withServerOptions } from "../options/server-options.ts";
import { colors, print, printable } from "../output/print.ts";
import { table } from "../output/table.ts";
import { withLockService } from "../servers/lock-service.ts";
import type { Server } from "../servers/server.ts";

interface VerifyArguments extends ServerArguments {
  readonly resource: string;
  readonly owner: string;
  readonly fence: string;
  readonly json: boolean | undefined;
}

const codes = { held: exitCodes.ok, "not-held": exitCodes.no, unknown: exitCodes.noQuorum };

/** `holdfast verify`: tells whether a lock is still held. */
export const verifyCommand: CommandModule<object, VerifyArguments> = {
  command: "verify <resource> <owner> <fence>",
  describe: "Tell whether a lock is still held",
  builder: (yargs) =>
    withServerOptions(yargs)
      .usage(
        "$0 verify <resource> <owner> <fence> [options]\n\n" +
          "Tells whether the lock with this owner and this fencing token is still held.",
      )
      .positional("resource", { type: "string", describe: "The resource" })
      .positional("owner", { type: "string", describe: "The owner of the lock, as in HOLDFAST_OWNER" })
      .positional("fence", { type: "string", describe: "The fencing token, as in HOLDFAST_FENCE" })
      .options({
        json,
      }) as unknown as Argv<VerifyArguments>,
  handler: async (args) => {
    const fence = parseFence(args.fence);
    const servers = await readServerOptions(args, process.env);
    process.exitCode = await withLockService(servers, {}, async (service) => {
      const verification = await withUsageErrors(() =>
        verify(service.redlock, args.resource, { owner: args.owner, fence }),
      );
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
    view === null ? "" : ownersOn(view).includes(verification.owner) ? "yes" : "no",
    view === null ? "" : String(view.fence),
    error === null ? "" : colors.red(problemOf(error, servers[index])),
  ]);
  return [verdictOf(verification), "", table(["server", "has it", "fence", ""], rows)].join("\n");
}

function verdictOf({ state, resource, fence, remainingMs, nodes }: Verification): string {
  const lock = `the lock on ${colors.bold(printable(resource))} with fence ${fence}`;
  if (state === "held") return `${lock} is ${colors.green("held")}, for ${timeOf(remainingMs)} unless it is extended`;
  if (state === "not-held") return `${lock} is ${colors.yellow("not held")}: no majority of the servers has it`;
  const replies = nodes.filter(({ view }) => view !== null).length;
  return `${lock} cannot be verified: ${replies} of ${nodes.length} servers ${colors.red("answered")}, too few to tell`;
}

/** Returns one line of JSON. Keys may be added, but existing ones do not change. */
function verificationJson({ nodes, ...verification }: Verification, servers: readonly Server[]): string {
  const { resource, owner, fence, state, remainingMs } = verification;
  const nodeRecords = nodes.map(({ node, view, error }, index) => ({
    node,
    holds: view && ownersOn(view).includes(owner),
    fence: view?.fence ?? null,
    error: error === null ? null : problemOf(error, servers[index]),
  }));
  return JSON.stringify({ resource, owner, fence, state, remainingMs: rounded(remainingMs), nodes: nodeRecords });
}
