import type { LockNode } from "@holdfast/core";
import { servedBy } from "@holdfast/core/node";
import type { Healed } from "@holdfast/membership";
import { type Command, serverCommand } from "../command.ts";
import { exitCodes, Failure, UsageError } from "../exit-codes.ts";
import { withUsageErrors } from "../failures.ts";
import { printingProgress } from "../membership/progress.ts";
import { duration, list } from "../options/option.ts";
import { listed } from "../output/format.ts";
import { print, printMessage } from "../output/print.ts";
import { withInterruptibleService } from "../servers/lock-service.ts";
import { arranged } from "../servers/sets.ts";

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
  async ({ server: names, settle: settleMs }, options) => {
    const { joint, generation, nodeTimeoutMs } = options;
    const outcome = `${listed(names)} is not healed yet. Run the same command again; it begins again`;
    return withInterruptibleService(options, outcome, async ({ nodes }, signal) => {
      assertHealable(names, nodes);
      const { heal } = await import("@holdfast/membership");
      const onProgress = printingProgress("attempts from before have ended, to read once more");
      const settings = { settleMs, generation, nodeTimeoutMs, signal, onProgress };
      const healed = await withUsageErrors(() => heal(arranged(nodes, joint), names, settings));
      print(textOf(healed));
      if (healed.empty.length > 0) printMessage(warningOf(healed));
      return exitCodes.ok;
    });
  },
);

/** @throws {Failure} if there is no server with one of the names, or it keeps no floor */
function assertHealable(names: readonly string[], nodes: readonly LockNode[]): void {
  const unknown = names.filter((name) => !nodes.some((node) => node.name === name));
  if (unknown.length > 0) {
    throw new UsageError(`${listed(unknown)} is none of the servers: ${nodes.map(({ name }) => name).join(", ")}`);
  }
  for (const { name, raiseFloor } of nodes) {
    if (raiseFloor !== undefined || !names.includes(name)) continue;
    throw new Failure(`could not heal ${name}: this kind of server keeps no floor`, exitCodes.misconfigured);
  }
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
