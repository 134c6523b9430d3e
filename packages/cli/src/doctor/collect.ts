import type { LockNode } from "@holdfast/core";
import { reasonOf } from "../failures.ts";
import type { ServerOptions } from "../options/server-options.ts";
import type { ExamineOptions, Server } from "../servers/server.ts";
import { within } from "../within.ts";
import type { Facts, ServerFacts, Stored } from "./facts.ts";
import type { Level } from "./finding-kind.ts";
import { type Report, reportOf } from "./judge.ts";

/** The options of {@link examine}. */
export interface CollectOptions
  extends Pick<ServerOptions, "joint" | "generation" | "ttlMs" | "restartGuardMs">,
    Partial<Omit<ExamineOptions, "epoch">> {
  /** The timeout of each server, in milliseconds. */
  readonly nodeTimeoutMs: number;
}

/** The timeout for all facts of one server, in milliseconds. */
const serverTimeoutMs = 20_000;

/**
 * Collects the facts of all servers concurrently, with sequential requests to each, and judges them. Always ends, whatever
 * the servers do, and leaves no keys behind.
 */
export async function examine(servers: readonly Server[], options: CollectOptions, required: Level): Promise<Report> {
  const { joint = null, generation, ttlMs, nodeTimeoutMs, restartGuardMs } = options;
  const suggestedNodeTimeoutMs = Math.max(0, ...servers.map(({ node }) => node.suggestedTimeoutMs ?? 0));
  const settings = { joint, generation, ttlMs, nodeTimeoutMs, suggestedNodeTimeoutMs, restartGuardMs };
  const facts: Facts = {
    servers: await Promise.all(servers.map((server) => collectFrom(server, options))),
    ...settings,
  };
  return reportOf(facts, required);
}

async function collectFrom(server: Server, options: CollectOptions): Promise<ServerFacts> {
  const { name } = server;
  try {
    const seen = await within(serverTimeoutMs, look(server, options));
    return { name, address: server.address(), failure: null, ...seen };
  } catch (error) {
    return { name, address: server.address(), failure: reasonOf(error as Error), view: null, stored: null };
  }
}

async function look(
  server: Server,
  { pings = 100, answerTimeoutMs = 3_000 }: CollectOptions,
): Promise<Pick<ServerFacts, "view" | "stored">> {
  if (!(await within(answerTimeoutMs, server.firstConnection))) {
    throw server.connectionError() ?? new Error("the connection was closed");
  }
  const stored = await readStored(server.node, answerTimeoutMs);
  return { view: await server.examine({ pings, answerTimeoutMs, epoch: stored?.epoch ?? 0 }), stored };
}

/** Reading the counters ends after this many, or this time in milliseconds. */
const countersMax = 100_000;
const budgetMs = 5_000;

/** Reads what a server keeps; null if its kind keeps no floor, or it does not reply. */
async function readStored(node: LockNode, answerTimeoutMs: number): Promise<Stored | null> {
  if (node.raiseFloor === undefined) return null;
  try {
    const reading = node.raiseFloor({ floor: 0, epoch: 0, timeoutMs: answerTimeoutMs });
    const { floor, epoch } = await within(answerTimeoutMs, reading);
    return { floor, epoch, ...(await countCounters(node, answerTimeoutMs)) };
  } catch {
    return null;
  }
}

async function countCounters(node: LockNode, timeoutMs: number): Promise<Pick<Stored, "counters" | "isComplete">> {
  const endMs = performance.now() + budgetMs;
  let counters = 0;
  let cursor: string | undefined;
  try {
    do {
      const request = { ...(cursor !== undefined && { cursor }), timeoutMs };
      const portion = await within(timeoutMs, node.scan?.(request) ?? Promise.reject(new Error("has no scan()")));
      counters += portion.counters;
      cursor = portion.cursor;
    } while (cursor !== undefined && counters < countersMax && performance.now() < endMs);
    return { counters, isComplete: cursor === undefined };
  } catch {
    return { counters: null, isComplete: false };
  }
}
