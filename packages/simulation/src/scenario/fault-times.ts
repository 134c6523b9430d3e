import type { Fault } from "./fault.ts";
import { type FullScenario, longestTtlMs } from "./scenario.ts";

/** An upper bound on how much longer than its nominal time a claim lasts on a node with a slow clock. */
export const slowest = 1.02;

/** Returns when a fault is over. A crash for good counts as over at once. */
export function endOf(fault: Fault): number {
  const startMs = "atMs" in fault ? fault.atMs : 0;
  return startMs + durationOf(fault);
}

/**
 * Returns how long claims may outlast their ttl because nodes' clocks are set back, in milliseconds. A clock that is
 * wrong from the start expires claims correctly.
 */
export function setBackMs({ faults }: FullScenario, nodes: readonly string[]): number {
  const jumps = faults.filter((fault) => fault.kind === "clock jump" && fault.atMs > 0 && nodes.includes(fault.of));
  return jumps.reduce((sum, jump) => sum + Math.abs("byMs" in jump ? jump.byMs : 0), 0);
}

/**
 * Returns when all faults and their effects are over: messages have arrived, and claims of dead clients have expired.
 * `Infinity` if a fault may strike at any time.
 */
export function calmFromMs(scenario: FullScenario, nodes: readonly string[]): number {
  const { faults, settings } = scenario;
  if (faults.length === 0) return 0;
  const lateMs = latestMs(faults);
  const lastMs = Math.max(
    ...faults.map((fault) => (isTimed(fault) ? endOf(fault) : settings.calmAfterMs + durationOf(fault) + lateMs)),
  );
  return lastMs + (longestTtlMs(scenario) + setBackMs(scenario, nodes)) * slowest;
}

/**
 * How long messages may be late in all: the delays of one message add up, and where connections keep the order, those of
 * a request and of a reply ahead of its own.
 */
function latestMs(faults: readonly Fault[]): number {
  const lateMs = { request: new Map<string, number>(), reply: new Map<string, number>() };
  for (const fault of faults) {
    if (fault.kind !== "late message") continue;
    const message = `${fault.client} ${fault.node} ${fault.message}`;
    lateMs[fault.part].set(message, (lateMs[fault.part].get(message) ?? 0) + fault.byMs);
  }
  return Math.max(0, ...lateMs.request.values()) + Math.max(0, ...lateMs.reply.values());
}

type Duration = "forMs" | "byMs" | "afterMs" | "guardMs" | "healAfterMs";

/** How long a fault lasts, or delays a message. */
function durationOf(fault: Fault): number {
  const { forMs, byMs, afterMs, guardMs, healAfterMs } = fault as Partial<Record<Duration, number>>;
  const lastsMs =
    forMs !== undefined && Number.isFinite(forMs) ? Math.max(forMs + (guardMs ?? 0), healAfterMs ?? 0) : 0;
  const lateMs = fault.kind === "clock jump" ? 0 : (byMs ?? 0);
  return Math.max(lastsMs, lateMs, afterMs ?? 0);
}

/** Whether a fault strikes at a fixed moment, and not at the next opportunity. */
function isTimed(fault: Fault): boolean {
  if (fault.kind === "pause") return fault.step === 0;
  return fault.kind === "clock drift" || ("atMs" in fault && fault.kind !== "pause before acting");
}
