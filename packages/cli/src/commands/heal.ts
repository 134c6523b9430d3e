import type { LockNode } from "@holdfast/core";
import { servedBy } from "@holdfast/core/node";
import type { Healed } from "@holdfast/membership";
import type { Argv, CommandModule } from "yargs";
import { exitCodes, Failure, UsageError } from "../exit-codes.ts";
import { withUsageErrors } from "../failures.ts";
import { showingProgress } from "../membership/progress.ts";
import { json, text } from "../options/definitions.ts";
import { parseDuration } from "../options/duration.ts";
import {
  only,
  readServerOptions,
  type ServerArguments,
  type ServerOptions,
  withServerOptions,
} from "../options/server-options.ts";
import { listed } from "../output/format.ts";
import { print, printMessage } from "../output/print.ts";
import { type LockService, withLockService } from "../servers/lock-service.ts";
import { arranged } from "../servers/sets.ts";
import { withSignals } from "../signals.ts";

interface HealArguments extends ServerArguments {
  readonly server: readonly string[];
  readonly settle: string | undefined;
  readonly dryRun: boolean | undefined;
  readonly json: boolean | undefined;
}

const defaultSettle = "60s";

/** `holdfast heal`: gives servers that lost their fence counters a floor above all tokens of the others. */
export const healCommand: CommandModule<object, HealArguments> = {
  command: "heal <server..>",
  describe: "Give a server that lost its fence counters a floor above all tokens",
  builder: (yargs) =>
    withServerOptions(yargs)
      .usage(
        "$0 heal <server..> [options]\n\n" +
          "Gives servers that lost their fence counters, or never had them, a floor above every token that\n" +
          "the others have granted. Name all servers with --node, and those to heal as inspect shows them.",
      )
      .positional("server", { type: "string", describe: "The servers to heal, by their names: host:port" })
      .options({
        settle: {
          ...text,
          describe:
            "The longest ttl of any lock, less the time since the servers came back: how long attempts from before may " +
            `still become locks (default: ${defaultSettle})`,
        },
        "dry-run": { type: "boolean", describe: "Read, and say what would be written" },
        json,
      }) as unknown as Argv<HealArguments>,
  handler: async (args) => {
    const options = await readServerOptions(args, process.env);
    if (options.memory) throw new UsageError("--memory has no servers to heal");
    const settleMs = parseDuration("--settle", only("--settle", args.settle) ?? defaultSettle);
    process.exitCode = await heal(args, args.dryRun ? 0 : settleMs, options);
  },
};

async function heal(args: HealArguments, settleMs: number, options: ServerOptions): Promise<number> {
  return withSignals(async (signals) => {
    try {
      const healed = await withLockService(options, signals, (service) => {
        return healServers(args, { ...options, settleMs }, service, signals.interrupted);
      });
      const dryRun = args.dryRun === true;
      print(args.json ? JSON.stringify({ ...healed, dryRun }) : textOf(healed, dryRun));
      if (healed.empty.length > 0) printMessage(warningOf(healed));
      return exitCodes.ok;
    } catch (error) {
      if (!signals.interrupted.aborted) throw error;
      printMessage(
        `interrupted: ${listed(args.server)} is not healed yet. Run the same command again; it begins again`,
      );
      return signals.exitCode;
    }
  });
}

async function healServers(
  { server: names, dryRun }: HealArguments,
  { joint, generation, nodeTimeoutMs, settleMs }: ServerOptions & { readonly settleMs: number },
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
  const display = await showingProgress("attempts from before have ended, to read once more");
  try {
    const { onProgress } = display;
    return await withUsageErrors(() =>
      heal(arranged(used, joint), names, { settleMs, generation, nodeTimeoutMs, signal, onProgress }),
    );
  } finally {
    display.end();
  }
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
