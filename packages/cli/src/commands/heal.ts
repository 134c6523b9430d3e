import { servedBy } from "@holdfast/core/node";
import type { Healed } from "@holdfast/membership";
import { type Command, serverCommand } from "../command.ts";
import { exitCodes, Failure, UsageError } from "../exit-codes.ts";
import { withUsageErrors } from "../failures.ts";
import { printingProgress } from "../membership/progress.ts";
import { duration, list } from "../options/option.ts";
import type { ServerOptions } from "../options/server-options.ts";
import { listed } from "../output/format.ts";
import { print, printMessage } from "../output/print.ts";
import { type LockService, withInterruptibleService } from "../servers/lock-service.ts";
import { arranged } from "../servers/sets.ts";

interface HealArguments {
  readonly server: readonly string[];
  readonly settle: number;
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
    },
  },
  heal,
);

async function heal(args: HealArguments, options: ServerOptions): Promise<number> {
  const { server: names } = args;
  const outcome = `${listed(names)} is not healed yet. Run the same command again; it begins again`;
  return withInterruptibleService(options, outcome, async (service, signal) => {
    const healed = await healServers(args, options, service, signal);
    print(textOf(healed));
    if (healed.empty.length > 0) printMessage(warningOf(healed));
    return exitCodes.ok;
  });
}

async function healServers(
  { server: names, settle: settleMs }: HealArguments,
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
  const { heal } = await import("@holdfast/membership");
  const onProgress = printingProgress("attempts from before have ended, to read once more");
  return withUsageErrors(() =>
    heal(arranged(nodes, joint), names, { settleMs, generation, nodeTimeoutMs, signal, onProgress }),
  );
}

function textOf({ nodes, floor, epoch, read, counters }: Healed): string {
  return [
    `healed ${listed(nodes)}`,
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
