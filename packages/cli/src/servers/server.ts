/** The interface that each kind of server implements, and what kinds share. The commands know no other. */

import { networkInterfaces } from "node:os";
import type { LockNode } from "@holdfast/core";
import type { AddressFacts, ServerView } from "../doctor/facts.ts";
import { UsageError } from "../exit-codes.ts";

/** A server that votes on locks, or the cluster or file that takes its place. */
export interface Server {
  /** The name for people, such as the host and port. Unique among the servers, and never with a user or a password. */
  readonly name: string;
  /** The lock node of the server. */
  readonly node: LockNode;
  /** The prefix of the names of its keys; null if it has none. */
  readonly prefix: string | null;
  /** Resolves when the first attempt to connect has ended, to whether it succeeded. Never rejects. */
  readonly firstConnection: Promise<boolean>;
  /** The reason why there is no connection; undefined if there is one, or the reason is not known yet. */
  connectionError(): Error | undefined;
  /** Whether the address is wrong, so that no retry can help: for example TLS for a port without it. */
  isMisaddressed(): boolean;
  /**
   * Lists the locked resources.
   *
   * @param pattern a glob in the syntax of Redis
   * @param nodeTimeoutMs the timeout of each reply, in milliseconds, where the node has none of its own
   */
  list(pattern: string, nodeTimeoutMs: number): AsyncIterable<string>;
  /** Describes the location of the server, after a connection. */
  address(): AddressFacts;
  /**
   * Makes the observations that the doctor judges, and tries a lock.
   *
   * @throws {Error} with the reason why the server cannot be used at all
   */
  examine(options: ExamineOptions): Promise<ServerView>;
  /** Lists the guarded tables that the user may examine, if it is a database that can have some. */
  guards?(): Promise<GuardedTables>;
  /** Closes the node and the connections. Afterwards they do not keep the process alive. */
  close(): Promise<void>;
}

/** The options of {@link Server.examine}. */
export interface ExamineOptions {
  /** The number of requests to measure. */
  readonly pings: number;
  /** The timeout of each reply, in milliseconds. */
  readonly answerTimeoutMs: number;
  /** The epoch that the server keeps; 0 if it serves all clients, or does not tell. */
  readonly epoch: number;
}

/** The tables of a database that refuse stale writers. */
export interface GuardedTables {
  /** The schema of tables that are named without one. */
  readonly defaultSchema: string;
  readonly tables: readonly GuardFacts[];
}

/** A table that refuses stale writers, or could. */
export interface GuardFacts {
  /** The schema of the table: in MySQL and MariaDB, its database. */
  readonly schema: string;
  readonly table: string;
  /** The answer to a write without a valid token; none if triggers are disabled or missing, or there is no guard. */
  readonly mode: "warn" | "refuse" | "disabled" | "incomplete" | "none";
  /** How the lock of a row is found; null if unknown. */
  readonly lock: string | null;
}

/** How to use the servers, whatever their kind. */
export interface ConnectOptions {
  /** The settings of TLS connections. */
  readonly tls: TlsOptions;
  /** The prefix of the keys; undefined means the default of each kind. */
  readonly prefix: string | undefined;
  /** How long a Redis server does not vote after its start, in milliseconds; 0: it votes at once. */
  readonly restartGuardMs: number;
}

/** PEM texts for TLS connections. */
export interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** A kind of server: how its addresses are written, and how to connect to one. */
export interface ServerKind<Address> {
  /** Returns the statement that creates the table of the locks, if users have to create one. */
  createTable?(address: Address): Promise<string>;
  /** The forms of addresses, for people. */
  readonly forms: string;
  /** Matches every text that is meant as an address of this kind. */
  readonly scheme: RegExp;
  /**
   * Parses an address.
   *
   * @throws {BadAddress} with the problem
   */
  parse(text: string): Address;
  /**
   * Loads the client library, and starts connecting to a server, which goes on until it is closed.
   *
   * @throws {UsageError} naming the packages to install if the library is missing
   */
  open(address: Address, options: ConnectOptions): Promise<Server>;
}

/** How long to wait for a server at the start, in milliseconds; later it is added as soon as it connects. */
export const connectTimeoutMs = 5_000;

/** An address that cannot be parsed. The message continues a sentence, and quotes nothing, as it may be a password. */
export class BadAddress extends Error {}

/** Decodes the parts of an address. */
export function decodePercents<Texts extends Readonly<Record<string, string>>>(texts: Texts): Texts {
  try {
    return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, decodeURIComponent(text)])) as Texts;
  } catch {
    throw new BadAddress("is not percent-encoded correctly");
  }
}

/** Returns the machine with an IP address: `local` for this one; null if there is no address. */
export function machineOf(address: string | undefined): string | null {
  if (address === undefined) return null;
  const plain = address.replace(/^::ffff:/, "");
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const isOwn = plain.startsWith("127.") || plain === "::1" || own.some((other) => other.address === plain);
  return isOwn ? "local" : address;
}

/**
 * Loads packages that are installed only where they are needed.
 *
 * @param what needs the packages, such as "postgres:// nodes"
 * @throws {UsageError} with the command that installs them if they are missing
 */
export async function loadDriver<T>(what: string, packages: readonly string[], load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new UsageError(
      `${what} need packages that are not installed beside holdfast: npm install ${packages.join(" ")}`,
    );
  }
}

/** A server whose node lists the locked resources itself. */
interface Listing extends Pick<Server, "address" | "examine" | "guards" | "close"> {
  readonly node: LockNode & { list(): AsyncIterable<string> };
  readonly prefix?: string;
  /** Sends a first request. Every later request tries again. */
  connect(): Promise<unknown>;
  /** Whether an error of that shows that the address is wrong. */
  misaddresses(problem: Error): boolean;
  /** Calls a listener with each later connection. */
  onConnect?(listener: () => void): void;
}

/** Connects to a server whose node lists the locked resources itself, and remembers why if that fails. */
export function listingServer({ connect, misaddresses, onConnect, ...listing }: Listing): Server {
  const { node } = listing;
  let problem: Error | undefined;
  onConnect?.(() => {
    problem = undefined;
  });
  const attempt = async (): Promise<boolean> => {
    try {
      await connect();
      return true;
    } catch (error) {
      problem = error as Error;
      return false;
    }
  };
  return {
    prefix: null,
    ...listing,
    name: node.name,
    firstConnection: attempt(),
    connectionError: () => problem,
    isMisaddressed: () => problem !== undefined && misaddresses(problem),
    list: (pattern) => matching(node.list(), globExpression(pattern)),
  };
}

async function* matching(resources: AsyncIterable<string>, expression: RegExp): AsyncIterable<string> {
  for await (const resource of resources) if (expression.test(resource)) yield resource;
}

/** Globs in the syntax of Redis, for servers that do not match them themselves. */

/**
 * Returns an expression that matches the same texts as a glob: `*`, `?`, `[abc]`, `[a-z]`, `[^a]`, and a backslash before
 * a character that stands for itself.
 */
export function globExpression(glob: string): RegExp {
  const parts = glob.matchAll(/\\(.)|\[(\^?)((?:\\.|[^\]\\])*)\]?|[\s\S]/gu);
  const source = [...parts].map(([all, escaped, not, members]) => {
    if (all === "*") return "[\\s\\S]*";
    if (all === "?") return "[\\s\\S]";
    if (members !== undefined) return classOf(members, not === "^");
    return literal(escaped ?? all);
  });
  return new RegExp(`^${source.join("")}$`, "u");
}

function classOf(members: string, isNegated: boolean): string {
  const ranges = [...members.matchAll(/(?:\\(.)|([^\\]))(?:-(?:\\(.)|([^\\])))?/gu)];
  const inside = ranges.map(([, escaped, plain, escapedEnd, plainEnd]) => {
    const [from, to] = [escaped ?? plain ?? "", escapedEnd ?? plainEnd];
    return to === undefined ? literal(from) : [from, to].sort().map(literal).join("-");
  });
  return `[${isNegated ? "^" : ""}${inside.join("")}]`;
}

/** Escapes a character by its number, which is right inside and outside of brackets. */
function literal(text: string): string {
  return [...text].map((character) => `\\u{${character.codePointAt(0)?.toString(16)}}`).join("");
}
