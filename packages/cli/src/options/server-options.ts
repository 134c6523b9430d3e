/** The options that all commands share: the servers, and how to use them. */
import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { UsageError } from "../exit-codes.ts";
import type { ConnectOptions, TlsOptions } from "../servers/server.ts";
import { parseServerAddress, type ServerAddress } from "../servers/servers.ts";
import type { JointPositions } from "../servers/sets.ts";
import { flag, list, type OptionsOf, parseDuration, text } from "./option.ts";

/** The validated options from the command line and the environment. */
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

/** The servers that one source names: as one set, or as the two sets of a change. */
interface NamedServers {
  readonly node: readonly string[];
  readonly old: readonly string[];
  readonly new: readonly string[];
}

/** The options whose values are text, and the variables of the environment for them. */
const variables = {
  generation: "HOLDFAST_GENERATION",
  prefix: "HOLDFAST_PREFIX",
  ttl: "HOLDFAST_TTL",
  "node-timeout": "HOLDFAST_NODE_TIMEOUT",
  "restart-guard": "HOLDFAST_RESTART_GUARD",
  "tls-ca": "HOLDFAST_TLS_CA",
  "tls-cert": "HOLDFAST_TLS_CERT",
  "tls-key": "HOLDFAST_TLS_KEY",
} as const;

/** The variables for the servers. */
const serverVariables = { node: "HOLDFAST_NODES", old: "HOLDFAST_OLD", new: "HOLDFAST_NEW" } as const;

type TextOptions = Readonly<Record<keyof typeof variables, string | undefined>>;

/** The options on the command line. */
export interface ServerArguments extends NamedServers, TextOptions {
  readonly "env-file": string | undefined;
  readonly memory: boolean;
}

const defaultTtlMs = 30_000;

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
  "env-file": text("A file of variables, such as HOLDFAST_NODES; those of the environment override it", group),
  memory: flag("Lock inside this process only, without servers, for trials", {
    ...group,
    conflicts: ["node", "old", "new"],
  }),
  prefix: text("Prefix of the keys in Redis and etcd (default: lock: and lock/)", group),
  ttl: text(`How long servers keep a lock whose holder has died (default: ${defaultTtlMs / 1_000}s)`, group),
  "node-timeout": text("Timeout of each server (default: 1/20 of --ttl, at most 500ms; longer for slow stores)", group),
  "restart-guard": text("How long a Redis server does not vote after its start (default: 0)", group),
  "tls-ca": text("A PEM file with the certificates to trust", group),
  "tls-cert": text("A PEM file with the certificate of this client", group),
  "tls-key": text("A PEM file with the key of this client", group),
};

/**
 * Reads the options. The command line overrides the environment, which overrides the file of variables.
 *
 * @throws {UsageError} naming the problem, without any password
 */
export async function readServerOptions(
  args: Partial<ServerArguments>,
  env: NodeJS.ProcessEnv,
): Promise<ServerOptions> {
  const file = args["env-file"];
  const all = file === undefined ? env : { ...(await readVariables(file)), ...env };
  const textOf = (name: keyof TextOptions): string | undefined => args[name] ?? all[variables[name]];
  /** Where an option is from, for messages. */
  const sourceOf = (name: keyof TextOptions): string => (args[name] === undefined ? variables[name] : `--${name}`);
  const durationOf = (name: keyof TextOptions): number | undefined => {
    const given = textOf(name);
    return given === undefined ? undefined : parseDuration(sourceOf(name), given);
  };
  const memory = args.memory === true;
  return {
    memory,
    ...(memory ? { addresses: [], joint: undefined } : addressesOf(args, all)),
    generation: parseGeneration(sourceOf("generation"), textOf("generation") || "0"),
    tls: memory ? {} : await readTls(textOf),
    prefix: textOf("prefix"),
    ttlMs: durationOf("ttl") ?? defaultTtlMs,
    nodeTimeoutMs: durationOf("node-timeout"),
    restartGuardMs: durationOf("restart-guard") ?? 0,
  };
}

function parseGeneration(source: string, given: string): number {
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw new UsageError(`${source} must be a non-negative integer, not ${JSON.stringify(given)}`);
}

/** Returns the servers of the first source that names any. */
function addressesOf(args: Partial<NamedServers>, env: NodeJS.ProcessEnv): Pick<ServerOptions, "addresses" | "joint"> {
  const valuesOf = (name: keyof NamedServers): readonly string[] => wordsOf(env[serverVariables[name]] ?? "");
  const sources = [
    { ...args, names: { node: "--node", old: "--old", new: "--new" } },
    { node: valuesOf("node"), old: valuesOf("old"), new: valuesOf("new"), names: serverVariables },
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
    "no lock servers: name them with --node redis://host:6379 (once for each), or in HOLDFAST_NODES; or use --memory to " +
      "try it without servers",
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

/**
 * Reads a file of variables, which may have others than those of this program.
 *
 * @throws {UsageError} if it cannot be read, or has a variable that only looks like one of this program
 */
async function readVariables(path: string): Promise<NodeJS.ProcessEnv> {
  const found = parseEnv(await readText(path));
  const known: readonly string[] = [...Object.values(serverVariables), ...Object.values(variables)];
  const unknown = Object.keys(found).filter((name) => name.startsWith("HOLDFAST_") && !known.includes(name));
  if (unknown.length === 0) return found;
  throw new UsageError(`${path} has unknown variables: ${unknown.join(", ")}; the known ones are ${known.join(", ")}`);
}

/** @throws {UsageError} if the file cannot be read */
async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new UsageError(`could not read ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
}
