import type { JointSet } from "@holdfast/core";
import type { Migration, MigrationStatus } from "@holdfast/membership";
import { type Command, serverCommand } from "../command.ts";
import { exitCodes, Failure, UsageError } from "../exit-codes.ts";
import { connectionProblems, withUsageErrors } from "../failures.ts";
import { claimsTable, printingProgress } from "../membership/progress.ts";
import { type Change, isKnown, nextText, remainderText, statusText } from "../membership/stages.ts";
import { duration, oneOf, pause } from "../options/option.ts";
import { print } from "../output/print.ts";
import { withInterruptibleService } from "../servers/lock-service.ts";
import type { Server } from "../servers/server.ts";
import { arranged, setsOf } from "../servers/sets.ts";

const steps = ["status", "begin", "join", "end"] as const;

/** `holdfast migrate`: leads clients from one set of servers to another while they lock. */
export const migrateCommand: Command = serverCommand(
  {
    line: "migrate <step>",
    rest: "--old … --new … [options]",
    describe: "Change the servers step by step while clients lock: status, begin, join, end",
    text:
      "Changes the set of servers while clients lock. Each step says what to do before the next one:\n" +
      "begin, then give all clients both sets; join, then give all clients the new set; end. Any step\n" +
      "can be repeated.",
    words: { step: oneOf(steps, "The step; status changes nothing") },
    options: {
      "watch-for": pause(
        "10s",
        "How long no client of an earlier stage may hold a lock before join and end refuse such clients",
      ),
      settle: duration("60s", "How long join and end wait for locks of such clients to end"),
    },
  },
  async ({ step = "status", "watch-for": watchMs, settle: settleMs }, options) => {
    if (options.joint === undefined) {
      throw new UsageError("name the servers before and after the change: --old and --new, once for each server");
    }
    const outcome = `nothing has to be undone. Repeat holdfast migrate ${step}`;
    const { generation, nodeTimeoutMs } = options;
    return withInterruptibleService(options, outcome, async ({ nodes, servers, joint }, signal) => {
      const names = servers.map(({ name }) => name);
      const change: Change = { generation, sets: setsOf(names, joint) };
      const { migration } = await import("@holdfast/membership");
      const onProgress = printingProgress("it is certain that no client of an earlier stage locks");
      const settings = { generation, watchMs, settleMs, nodeTimeoutMs, signal, onProgress };
      const migrating = await withUsageErrors(() => migration(arranged(nodes, joint) as JointSet, settings));
      try {
        const status = await migrating[step]();
        print(statusText(status, change));
        return isKnown(status, change) ? exitCodes.ok : exitCodes.noQuorum;
      } catch (error) {
        throw await explained(error, step, change, migrating, servers);
      }
    });
  },
);

/** Returns a failure that says what is left to do, after the stragglers were printed. */
async function explained(
  error: unknown,
  step: (typeof steps)[number],
  change: Change,
  migrating: Migration,
  servers: readonly Server[],
): Promise<unknown> {
  const { MembershipError } = await import("@holdfast/membership");
  if (!(error instanceof MembershipError)) return error;
  const { message, claims, failures } = error;
  if (claims.length > 0) print(claimsTable(claims));
  const status: MigrationStatus | null = step === "status" ? null : await migrating.status().catch(() => null);
  const isTooEarly = claims.length === 0 && failures.length === 0;
  const rest =
    status === null ? "" : `\n  ${isTooEarly ? nextText(status, change) : remainderText(status, change, step)}`;
  return new Failure(
    message + connectionProblems(servers, failures) + rest,
    failures.length > 0 ? exitCodes.noQuorum : exitCodes.no,
  );
}
