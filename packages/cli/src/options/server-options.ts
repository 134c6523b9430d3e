/** The options that all commands share: the servers, and how to use them. */
import type { Argv, Options } from "yargs";
import { exitCodesHelp, UsageError } from "../exit-codes.ts";
import { parseServerAddress, type ServerAddress } from "../servers/kinds.ts";
import type { ConnectOptions, TlsOptions } from "../servers/server.ts";
import type { JointPositions } from "../servers/sets.ts";
import { type Config, readConfig, readText } from "./config-file.ts";
import { text } from "./definitions.ts";
import { parseDuration } from "./duration.ts";

/** The validated options from the command line, the environment and the configuration file. */
export interface ServerOptions extends ConnectOptions {
  /** Whether to use a single node in this process, for trials, instead of servers. */
  readonly memory: boolean;
  /** The addresses of the servers, each once; empty with `memory`. */
  readonly addresses: readonly ServerAddress[];
  /** Which of them are in the old and in the new set while the servers change; undefined if they are one set. */
  readonly joint: JointPositions | undefined;
  /** How many times the set of servers has changed, before a change that is under way. */
  readonly generation: number;
  /** How long the servers keep a lock that is not extended, in milliseconds. */
  readonly ttlMs: number;
  /** The timeout of each server, in milliseconds; undefined means the default of the library for these servers. */
  readonly nodeTimeoutMs: number | undefined;
}

/** The options as yargs returns them: text until {@link readServerOptions} parses it. */
export interface ServerArguments {
  readonly node: readonly string[] | undefined;
  readonly old: readonly string[] | undefined;
  readonly new: readonly string[] | undefined;
  readonly generation: string | undefined;
  readonly config: string | undefined;
  readonly memory: boolean | undefined;
  readonly prefix: string | undefined;
  readonly ttl: string | undefined;
  readonly nodeTimeout: string | undefined;
  readonly restartGuard: string | undefined;
  readonly tlsCa: string | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
}

/** The defaults. */
const serverDefaults = { ttl: "30s", restartGuard: "0" } as const;

const server = { ...text, group: "Servers:" } as const;
/** The definitions of the options for yargs. */
export const serverOptionDefinitions: Readonly<Record<string, Options>> = {
  node: {
    ...server,
    array: true,
    describe:
      "A lock server, repeated for each: redis://, unix://, postgres://, mysql://, etcd://, sqlite:PATH (default: " +
      "those of HOLDFAST_NODES)",
  },
  old: { ...server, array: true, describe: "A server of the old set, instead of --node, while the servers change" },
  new: { ...server, array: true, describe: "A server of the new set; locks then need a majority of both sets" },
  generation: { ...server, describe: "How many times the set of servers has changed before (default: 0)" },
  config: { ...server, describe: "A configuration file, instead of holdfast.config.json or .holdfastrc" },
  memory: {
    type: "boolean",
    group: server.group,
    conflicts: ["node", "old", "new"],
    describe: "Lock inside this process only, without servers, for trials",
  },
  prefix: { ...server, describe: "Prefix of the keys in Redis and etcd (default: lock: and lock/)" },
  ttl: { ...server, describe: `How long servers keep a lock whose holder has died (default: ${serverDefaults.ttl})` },
  "node-timeout": {
    ...server,
    describe: "Timeout of each server (default: 1/20 of --ttl, at most 500ms; longer for slow stores)",
  },
  "restart-guard": { ...server, describe: "How long a Redis server does not vote after its start (default: 0)" },
  "tls-ca": { ...server, describe: "A PEM file with the certificates to trust" },
  "tls-cert": { ...server, describe: "A PEM file with the certificate of this client" },
  "tls-key": { ...server, describe: "A PEM file with the key of this client" },
};

/** Adds the options to a command, and the exit codes to its help. */
export function withServerOptions<Others>(yargs: Argv<Others>): Argv<Others & ServerArguments> {
  return yargs.options(serverOptionDefinitions).epilogue(exitCodesHelp) as unknown as Argv<Others & ServerArguments>;
}

/**
 * Reads the options. The command line overrides the environment, which overrides the configuration file.
 *
 * @throws {UsageError} naming the problem, without any password
 */
export async function readServerOptions(args: ServerArguments, env: NodeJS.ProcessEnv): Promise<ServerOptions> {
  const config = await readConfig(only("--config", args.config));
  const choose = (name: keyof typeof serverDefaults, option: string): string =>
    only(option, args[name]) ?? config[name] ?? serverDefaults[name];
  const nodeTimeout = only("--node-timeout", args.nodeTimeout) ?? config.nodeTimeout;
  const memory = args.memory === true;
  const { addresses, joint } = memory ? { addresses: [], joint: undefined } : addressesOf(args, env, config);
  return {
    memory,
    addresses,
    joint,
    generation: generationOf(args, env, config),
    tls: memory ? {} : await readTls(args, config),
    prefix: only("--prefix", args.prefix) ?? config.prefix,
    ttlMs: parseDuration("--ttl", choose("ttl", "--ttl")),
    nodeTimeoutMs: nodeTimeout === undefined ? undefined : parseDuration("--node-timeout", nodeTimeout),
    restartGuardMs: parseDuration("--restart-guard", choose("restartGuard", "--restart-guard")),
  };
}

/** @throws {UsageError} unless this is a non-negative integer, or absent */
function generationOf(args: ServerArguments, env: NodeJS.ProcessEnv, config: Config): number {
  const given = only("--generation", args.generation) ?? env.HOLDFAST_GENERATION ?? "";
  if (given === "") return config.generation ?? 0;
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw new UsageError(`--generation must be a non-negative integer, not ${JSON.stringify(given)}`);
}

/**
 * Returns the value of an option that may be given once.
 *
 * @throws {UsageError} if it was given more than once
 */
export function only(option: string, value: string | undefined): string | undefined {
  if (Array.isArray(value)) throw new UsageError(`${option} was given ${value.length} times`);
  return value;
}

/** The servers that one source names: as one set, or as the two sets of a change. */
interface NamedServers {
  /** Names the source and its list in an error. */
  readonly where: { readonly nodes: string; readonly old: string; readonly new: string };
  readonly nodes: readonly string[];
  readonly old: readonly string[];
  readonly new: readonly string[];
}

/** Returns the servers of the first source that names any. */
function addressesOf(
  args: ServerArguments,
  env: NodeJS.ProcessEnv,
  config: Config,
): Pick<ServerOptions, "addresses" | "joint"> {
  const { HOLDFAST_NODES: nodes = "", HOLDFAST_OLD: before = "", HOLDFAST_NEW: after = "" } = env;
  const inFile = (key: string): string => `${key} in the configuration file`;
  const sources: readonly NamedServers[] = [
    {
      where: { nodes: "--node", old: "--old", new: "--new" },
      ...{ nodes: args.node ?? [], old: args.old ?? [], new: args.new ?? [] },
    },
    {
      where: { nodes: "HOLDFAST_NODES", old: "HOLDFAST_OLD", new: "HOLDFAST_NEW" },
      ...{ nodes: wordsOf(nodes), old: wordsOf(before), new: wordsOf(after) },
    },
    {
      where: { nodes: "the configuration file", old: inFile("old"), new: inFile("new") },
      ...{ nodes: config.nodes ?? [], old: config.old ?? [], new: config.new ?? [] },
    },
  ];
  const source = sources.find((each) => each.nodes.length + each.old.length + each.new.length > 0);
  if (source === undefined) {
    throw new UsageError(
      "no lock servers: name them with --node redis://host:6379 (once for each), in HOLDFAST_NODES, or as nodes in " +
        "holdfast.config.json; or use --memory to try it without servers",
    );
  }
  const parse = (kind: "nodes" | "old" | "new"): readonly ServerAddress[] =>
    source[kind].map((node, index) => parseServerAddress(node, `node ${index + 1} of ${source.where[kind]}`));
  if (source.old.length + source.new.length === 0) return { addresses: parse("nodes"), joint: undefined };
  const { where } = source;
  if (source.nodes.length > 0)
    throw new UsageError(`name the servers in ${where.nodes}, or in ${where.old} and ${where.new}`);
  if (source.old.length * source.new.length === 0) {
    throw new UsageError(`${where.old} and ${where.new} go together: name the servers of both sets`);
  }
  return joined(parse("old"), parse("new"));
}

/** Lists the servers of both sets, those in both once. */
function joined(
  before: readonly ServerAddress[],
  after: readonly ServerAddress[],
): Pick<ServerOptions, "addresses" | "joint"> {
  const addresses = [...before];
  const isSame = (a: ServerAddress, b: ServerAddress): boolean =>
    a.kind === b.kind && JSON.stringify(a.where) === JSON.stringify(b.where);
  const positions = after.map((address) => {
    const position = before.findIndex((each) => isSame(each, address));
    return position < 0 ? addresses.push(address) - 1 : position;
  });
  return { addresses, joint: { old: before.map((_, position) => position), new: positions } };
}

/** Splits a list at spaces and commas. Commas within the address of an etcd cluster separate its members. */
function wordsOf(list: string): readonly string[] {
  const words = list.split(/\s+/).flatMap((word) => {
    const addresses = word.split(/,+(?=[a-z][a-z0-9+.-]*:\/\/|sqlite:|\/)/i);
    return addresses.flatMap((address) => (/^etcds?:\/\//i.test(address) ? address : address.split(/,+/)));
  });
  return words.filter((word) => word !== "");
}

async function readTls(args: ServerArguments, config: Config): Promise<TlsOptions> {
  const files = {
    ca: only("--tls-ca", args.tlsCa) ?? config.tlsCa,
    cert: only("--tls-cert", args.tlsCert) ?? config.tlsCert,
    key: only("--tls-key", args.tlsKey) ?? config.tlsKey,
  };
  const texts = Object.entries(files).map(async ([name, path]) => path && [name, await readText(path)]);
  return Object.fromEntries((await Promise.all(texts)).filter((entry) => entry !== undefined && entry !== ""));
}
