import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Command, readCommand } from "@holdfast/app-kit/program";
import { nemeses } from "./nemeses/index.ts";
import type { Nemesis } from "./nemeses/nemesis.ts";

/** The options of a run. */
export interface ChaosOptions {
  readonly seconds: number;
  readonly nodes: number;
  readonly clients: number;
  readonly ttlMs: number;
  readonly mode: keyof typeof modes;
  readonly nemeses: readonly Nemesis[];
  readonly seed: number;
  /** The folder for the report, if one is wanted. */
  readonly report: string | undefined;
  /** The modules that connect clients to the servers, in turn. */
  readonly adapters: readonly string[];
}

const attacked = ["seconds", "nemesis", "nodes", "clients", "ttl", "seed", "report", "adapter"];

/**
 * The kinds of runs: clients take locks and are attacked, or stand for election and so hold the lock in terms, or the set
 * of servers changes, or nothing is attacked. Each has defaults of its own, and takes some of the options.
 */
const modes = {
  locks: { seconds: 20, clients: 4, ttl: 1_000, nemeses, options: attacked },
  election: { seconds: 20, clients: 4, ttl: 1_000, nemeses, options: attacked },
  membership: {
    ...{ seconds: 12, clients: 20, ttl: 3_000, nemeses: [] },
    options: ["seconds", "clients", "ttl", "seed", "report"],
  },
  soak: { seconds: 20, clients: 4, ttl: 1_000, nemeses: [], options: ["seconds", "seed"] },
};

const help = `Attacks real redis-servers, client processes and the network between them, and checks the promises of locks.

Usage: pnpm chaos [options]

  --seconds N      how long, from 1 to 86400 (default 20); at least one attack of each nemesis
  --nemesis A,B    only these (default: all)
  --list           prints all of them
  --nodes N        how many servers hold the locks, from 3 to 9 (default 5)
  --clients N      how many client processes, from 2 to 32 (default 4)
  --ttl N          the ttl of the locks, in milliseconds, from 300 to 10000 (default 1000)
  --election       clients stand for election (\`@holdfast/core/election\`) instead of taking locks
  --membership     three servers become five, and then five others, under load and under faults; only --seconds (the
                   time between the changes, default 12), --clients (default 20), --ttl (default 3000), --seed and --report
  --soak           nothing is attacked: programs that lock at full speed leave nothing behind; only --seconds and --seed
  --seed N         draws the same attacks again; their outcome differs from run to run
  --report DIR     writes a report with pictures into this folder
  --adapter FILE   the module that connects clients to the servers; several take turns (default: ioredis, node-redis)
  --help           prints this

Exit code: 0 when every promise was kept, 1 when one was violated, 2 when it could not run.
`;

/** Returns the file of one of our adapters. */
export function adapterFile(name: string): string {
  return fileURLToPath(new URL(`./adapters/${name}.ts`, import.meta.url));
}

/** The modules that connect clients to the servers unless the run has others. */
export const adapters = ["ioredis", "node-redis"].map(adapterFile);

/** Reads the command line. */
export function parseCommand(args: readonly string[]): Command<ChaosOptions> {
  return readCommand(help, args, ({ names, flag, text, texts, integer }) => {
    if (flag("list")) return list();
    const mode = (["soak", "membership", "election"] as const).find(flag) ?? "locks";
    const { options, ...defaults } = modes[mode];
    const refused = names.find((name) => name !== mode && !options.includes(name));
    if (refused !== undefined) throw new RangeError(`--${refused} has no effect with --${mode}`);
    return {
      seconds: integer("seconds", defaults.seconds, 1, 86_400),
      nodes: integer("nodes", 5, 3, 9),
      clients: integer("clients", defaults.clients, 2, 32),
      ttlMs: integer("ttl", defaults.ttl, 300, 10_000),
      mode,
      seed: integer("seed", Math.floor(Math.random() * 1_000_000), 0, 2 ** 31 - 1),
      nemeses: text("nemesis")?.split(",").map(nemesisNamed) ?? defaults.nemeses,
      report: text("report"),
      adapters: names.includes("adapter") ? texts("adapter").map(file) : adapters,
    };
  });
}

/** Returns the command of a run. It draws the same attacks again. */
export function commandOf({ mode, ttlMs: ttl, ...options }: ChaosOptions): string {
  const nemesis = options.nemeses === nemeses ? undefined : options.nemeses.map(({ name }) => name).join(",");
  const { seconds, nodes, clients, seed, report } = options;
  const values = Object.entries({ seconds, nodes, clients, ttl, seed, nemesis, report }).filter(
    ([name, value]) => value !== undefined && modes[mode].options.includes(name),
  );
  const given = options.adapters === adapters ? [] : options.adapters.map((path) => ["adapter", path]);
  const words = [...values, ...given].map(([name, value]) => ` --${name} ${value}`);
  return `pnpm chaos${mode === "locks" ? "" : ` --${mode}`}${words.join("")}`;
}

function list(): string {
  const width = Math.max(...nemeses.map(({ name }) => name.length));
  const lines = (kind: Nemesis["kind"]): string =>
    nemeses
      .filter((nemesis) => nemesis.kind === kind)
      .map(({ name, description }) => `  ${name.padEnd(width)}  ${description}\n`)
      .join("");
  return (
    `Survivable: no two clients hold the lock at once.\n${lines("survivable")}\n` +
    `Lock-breaking: two may, and only tokens protect what they write.\n${lines("lock-breaking")}`
  );
}

function nemesisNamed(wanted: string): Nemesis {
  const found = nemeses.find(({ name }) => name === wanted);
  if (found === undefined) throw new RangeError(`there is no nemesis ${JSON.stringify(wanted)}: see --list`);
  return found;
}

function file(path: string): string {
  if (!existsSync(path)) throw new RangeError(`--adapter: there is no file ${resolve(path)}`);
  return path;
}
