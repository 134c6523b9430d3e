/** The options that all commands share: the servers, and how to use them. */
import { UsageError } from "../exit-codes.ts";
import type { ConnectOptions, TlsOptions } from "../servers/server.ts";
import { parseServerAddress, type ServerAddress } from "../servers/servers.ts";
import type { JointPositions } from "../servers/sets.ts";
import { type NamedServers, readConfig, readText, type TextOptions } from "./config-file.ts";
import { flag, list, type OptionsOf, parseDuration, text } from "./option.ts";

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

/** The options on the command line. */
export interface ServerArguments extends NamedServers, TextOptions {
  readonly config: string | undefined;
  readonly memory: boolean;
}

const defaults = { ttl: "30s", "restart-guard": "0" } as const;

const group = { group: "Servers:" } as const;
/** The definitions of the options. */
export const serverOptions: OptionsOf<ServerArguments> = {
  node: list(
    "A lock server, repeated for each: redis://, unix://, postgres://, mysql://, etcd://, sqlite:PATH (default: those " +
      "of HOLDFAST_NODES)",
    group,
  ),
  old: list("A server of the old set, instead of --node, while the servers change", group),
  new: list("A server of the new set; locks then need a majority of both sets", group),
  generation: text("How many times the set of servers has changed before (default: 0)", group),
  config: text("A configuration file, instead of holdfast.config.json or .holdfastrc", group),
  memory: flag("Lock inside this process only, without servers, for trials", {
    ...group,
    conflicts: ["node", "old", "new"],
  }),
  prefix: text("Prefix of the keys in Redis and etcd (default: lock: and lock/)", group),
  ttl: text(`How long servers keep a lock whose holder has died (default: ${defaults.ttl})`, group),
  "node-timeout": text("Timeout of each server (default: 1/20 of --ttl, at most 500ms; longer for slow stores)", group),
  "restart-guard": text("How long a Redis server does not vote after its start (default: 0)", group),
  "tls-ca": text("A PEM file with the certificates to trust", group),
  "tls-cert": text("A PEM file with the certificate of this client", group),
  "tls-key": text("A PEM file with the key of this client", group),
};

/**
 * Reads the options. The command line overrides the environment, which overrides the configuration file.
 *
 * @throws {UsageError} naming the problem, without any password
 */
export async function readServerOptions(
  args: Partial<ServerArguments>,
  env: NodeJS.ProcessEnv,
): Promise<ServerOptions> {
  const file = await readConfig(args.config);
  const textOf = (name: keyof TextOptions): string | undefined => args[name] ?? file[name];
  const memory = args.memory === true;
  const nodeTimeout = textOf("node-timeout");
  return {
    memory,
    ...(memory ? { addresses: [], joint: undefined } : addressesOf(args, env, file)),
    generation: parseGeneration(args.generation || env.HOLDFAST_GENERATION || file.generation || "0"),
    tls: memory ? {} : await readTls(textOf),
    prefix: textOf("prefix"),
    ttlMs: parseDuration("--ttl", textOf("ttl") ?? defaults.ttl),
    nodeTimeoutMs: nodeTimeout === undefined ? undefined : parseDuration("--node-timeout", nodeTimeout),
    restartGuardMs: parseDuration("--restart-guard", textOf("restart-guard") ?? defaults["restart-guard"]),
  };
}

function parseGeneration(given: string): number {
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw new UsageError(`--generation must be a non-negative integer, not ${JSON.stringify(given)}`);
}

/** Returns the servers of the first source that names any. */
function addressesOf(
  args: Partial<NamedServers>,
  { HOLDFAST_NODES = "", HOLDFAST_OLD = "", HOLDFAST_NEW = "" }: NodeJS.ProcessEnv,
  file: Partial<NamedServers>,
): Pick<ServerOptions, "addresses" | "joint"> {
  const env = { node: wordsOf(HOLDFAST_NODES), old: wordsOf(HOLDFAST_OLD), new: wordsOf(HOLDFAST_NEW) };
  const where = "the configuration file";
  const sources = [
    { ...args, names: { node: "--node", old: "--old", new: "--new" } },
    { ...env, names: { node: "HOLDFAST_NODES", old: "HOLDFAST_OLD", new: "HOLDFAST_NEW" } },
    { ...file, names: { node: where, old: `old in ${where}`, new: `new in ${where}` } },
  ];
  for (const { names, node = [], old: before = [], new: after = [] } of sources) {
    if (node.length + before.length + after.length === 0) continue;
    const parse = (list: readonly string[], name: string): readonly ServerAddress[] =>
      list.map((each, index) => parseServerAddress(each, `node ${index + 1} of ${name}`));
    if (before.length + after.length === 0) return { addresses: parse(node, names.node), joint: undefined };
    if (node.length > 0) throw new UsageError(`name the servers in ${names.node}, or in ${names.old} and ${names.new}`);
    if (before.length * after.length > 0) return joined(parse(before, names.old), parse(after, names.new));
    throw new UsageError(`${names.old} and ${names.new} go together: name the servers of both sets`);
  }
  throw new UsageError(
    "no lock servers: name them with --node redis://host:6379 (once for each), in HOLDFAST_NODES, or as nodes in " +
      "holdfast.config.json; or use --memory to try it without servers",
  );
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

async function readTls(pathOf: (name: keyof TextOptions) => string | undefined): Promise<TlsOptions> {
  const files = (["ca", "cert", "key"] as const).map(async (name) => {
    const path = pathOf(`tls-${name}`);
    return path && [[name, await readText(path)]];
  });
  return Object.fromEntries((await Promise.all(files)).flatMap((entry) => entry || []));
}
