import type { LockNode } from "@holdfast/core";
import { servedBy } from "@holdfast/core/node";
import type { Healed } from "@holdfast/membership";
import { type Command, serverCommand } from "../command.ts";
import { exitCodes, Failure, UsageError } from "../exit-codes.ts";
import { withUsageErrors } from "../failures.ts";
import { printingProgress } from "../membership/progress.ts";
import { duration, flag, json, list } from "../options/option.ts";
import type { ServerOptions } from "../options/server-options.ts";
import { listed } from "../output/format.ts";
import { print, printMessage } from "../output/print.ts";
import { type LockService, withInterruptibleService } from "../servers/lock-service.ts";
import { arranged } from "../servers/sets.ts";

interface HealArguments {
  readonly server: readonly string[];
  readonly settle: number;
  readonly "dry-run": boolean;
  readonly json: boolean;
}

/** `holdfast heal`: gives servers that lost their fence counters a floor above all tokens of the others. */
export const healCommand: Command = serverCommand(
  {
    line: "heal <server..>",
    describe: "Give a server that lost its fence counters a floor above all tokens",
    text:
      "Gives servers that lost their fence counters, or never had them, a floor above every token that\n" +
      "the others have granted. Name all servers with --node, and those to heal as inspect shows them.",
    memory: "heal",
    words: { server: list("The servers to heal, by their names: host:port") },
    options: {
      settle: duration(
        "60s",
        "The longest ttl of any lock, less the time since the servers came back: how long attempts from before may " +
          "still become locks",
      ),
      "dry-run": flag("Read, and say what would be written"),
      json,
    },
  },
  heal,
);

async function heal(args: HealArguments, options: ServerOptions): Promise<number> {
  const { server: names, "dry-run": dryRun, json } = args;
  const outcome = `${listed(names)} is not healed yet. Run the same command again; it begins again`;
  return withInterruptibleService(options, outcome, async (service, signal) => {
    const healed = await healServers(args, options, service, signal);
    print(json ? JSON.stringify({ ...healed, dryRun }) : textOf(healed, dryRun));
    if (healed.empty.length > 0) printMessage(warningOf(healed));
    return exitCodes.ok;
  });
}

async function healServers(
  { server: names, settle, "dry-run": dryRun }: HealArguments,
  { joint, generation, nodeTimeoutMs }: ServerOptions,
  { nodes }: LockService,
  signal: AbortSignal,
): Promise<Healed> {
  const unknown = names.filter((name) => !nodes.some((node) => node.name === name));
  if (unknown.length > 0) {
    throw new UsageError(`${listed(unknown)} is none of the servers: ${nodes.map(({ name }) => name).join(", ")}`);
  }
  for (const { name, raiseFloor } of nodes) {
    if (raiseFloor !== undefined || !names.includes(name)) continue;
    throw new Failure(`could not heal ${name}: this kind of server keeps no floor`, exitCodes.misconfigured);
  }
  const used = dryRun ? nodes.map((node) => (names.includes(node.name) ? unchanged(node) : node)) : nodes;
  const { heal } = await import("@holdfast/membership");
  const onProgress = printingProgress("attempts from before have ended, to read once more");
  const settleMs = dryRun ? 0 : settle;
  return withUsageErrors(() =>
    heal(arranged(used, joint), names, { settleMs, generation, nodeTimeoutMs, signal, onProgress }),
  );
}

/** Returns the node for a dry run: it answers as if its floor were raised. */
function unchanged(node: LockNode): LockNode {
  return {
    name: node.name,
    acquire: (request) => node.acquire(request),
    extend: (request) => node.extend(request),
    release: (request) => node.release(request),
    scan: async (request) => node.scan?.(request) ?? { counters: 0, highest: 0, claims: [] },
    async raiseFloor({ floor, epoch, timeoutMs }) {
      const seen = await node.raiseFloor?.({ floor: 0, epoch: 0, timeoutMs });
      return { floor: Math.max(floor, seen?.floor ?? 0), epoch: Math.max(epoch, seen?.epoch ?? 0) };
    },
  };
}

function textOf({ nodes, floor, epoch, read, counters }: Healed, dryRun: boolean): string {
  return [
    dryRun ? `would heal ${listed(nodes)}, and has changed nothing` : `healed ${listed(nodes)}`,
    `  read   ${counters} fence counters of ${listed(read)}`,
    `  floor  ${floor}: no later token is below it`,
    ...(epoch > 0 ? [`  serves ${servedBy(epoch)}`] : []),
  ].join("\n");
}

function warningOf({ nodes, empty }: Healed): string {
  const have = empty.length === 1 ? "has" : "have";
  return (
    `warning: ${listed(empty)} ${have} no fence counters and no floor, unlike others: if they were lost, this floor may ` +
    `be too low. Heal all together: holdfast heal ${[...nodes, ...empty].join(" ")}`
  );
}
