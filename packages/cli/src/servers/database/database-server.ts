import type { Socket } from "node:net";
import type { LockNode } from "@holdfast/core";
import { within } from "../../within.ts";
import { BadAddress, listingServer, machineOf, type Server } from "../server.ts";

/** How long the server may take to close the connections, in milliseconds. */
const closeTimeoutMs = 500;

/** A database of any kind, and how to use its pool of connections. */
export interface Database extends Required<Pick<Server, "examine" | "guards">> {
  readonly node: LockNode & { list(): AsyncIterable<string> };
  /** Checks out a connection. */
  connect(): Promise<{ release(): void }>;
  /** Calls a listener with the stream of each new connection. */
  onConnect(listener: (stream: Socket | undefined) => void): void;
  /** Closes the pool. */
  end(): Promise<unknown>;
  /** Whether connections use a Unix domain socket. */
  readonly isSocket: boolean;
  /** Matches the messages of errors that no retry can help. */
  readonly misaddressed: RegExp;
}

/** Connects to a database. */
export function databaseServer({ connect, onConnect, end, isSocket, misaddressed, ...database }: Database): Server {
  let seen: ReturnType<Server["address"]> = { machine: null, isTls: false, database: null };
  return listingServer({
    ...database,
    connect: async () => (await connect()).release(),
    misaddresses: ({ message }) => misaddressed.test(message),
    onConnect: (listener) =>
      onConnect((stream) => {
        listener();
        const machine = isSocket ? "local" : machineOf(stream?.remoteAddress);
        seen = { machine, isTls: stream !== undefined && "encrypted" in stream, database: null };
      }),
    address: () => seen,
    async close() {
      await database.node.close?.();
      await within(closeTimeoutMs, end()).catch(() => {});
    },
  });
}

/**
 * Parses the address of a database.
 *
 * @param parameters those that it may have, each once
 */
export function databaseUrl(text: string, parameters: readonly string[]): URL {
  if (!URL.canParse(text)) throw new BadAddress("is not the address of a database");
  const url = new URL(text);
  const names = [...url.searchParams.keys()];
  const isKnown = names.every((name) => parameters.includes(name));
  if (url.hash !== "" || !isKnown) throw new BadAddress("has unknown parameters");
  if (new Set(names).size < names.length) throw new BadAddress("has a parameter twice");
  return url;
}

/** The facts about a table. */
export interface TableFacts {
  /** The names of the columns that it lacks. */
  readonly missingColumns: readonly string[];
  /** The privileges that the user lacks. */
  readonly missingPrivileges: readonly string[];
}

/** Returns the names of the columns of a table that a statement creates, which names one in each line. */
export function columnsOf(statement: string): readonly string[] {
  return [...statement.matchAll(/^ {2}(\w+) /gm)].map(([, column]) => column as string);
}
