import { type Verification, verify } from "@holdfast/core/verify";
import { type Command, serverCommand } from "../command.ts";
import { exitCodes, UsageError } from "../exit-codes.ts";
import { withUsageErrors } from "../failures.ts";
import { ownersOn, problemOf, rounded, timeOf } from "../inspect/inspection-report.ts";
import { json, word } from "../options/option.ts";
import { colors, print, printable } from "../output/print.ts";
import { table } from "../output/table.ts";
import { withLockService } from "../servers/lock-service.ts";
import type { Server } from "../servers/server.ts";

const codes = { held: exitCodes.ok, "not-held": exitCodes.no, unknown: exitCodes.noQuorum };

/** `holdfast verify`: tells whether a lock is still held. */
export const verifyCommand: Command = serverCommand(
  {
    line: "verify <resource> <owner> <fence>",
    describe: "Tell whether a lock is still held",
    text: "Tells whether the lock with this owner and this fencing token is still held.",
    words: {
      resource: word("The resource"),
      owner: word("The owner of the lock, as in HOLDFAST_OWNER"),
      fence: { ...word("The fencing token, as in HOLDFAST_FENCE"), read: parseFence },
    },
    options: { json },
  },
  async ({ resource, owner, fence, json }, options) =>
    withLockService(options, {}, async ({ redlock, servers }) => {
      const verification = await withUsageErrors(() => verify(redlock, resource, { owner, fence }));
      print(json ? verificationJson(verification, servers) : textOf(verification, servers));
      return codes[verification.state];
    }),
);

function parseFence(given: unknown): number {
  const fence = /^\d+$/.test(String(given)) ? Number(given) : Number.NaN;
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
