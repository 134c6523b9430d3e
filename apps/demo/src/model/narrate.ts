import type { DemoEvent, Visit } from "../events.ts";
import type { LogLine, Model } from "./model.ts";

/** Describes an event in plain words. Most events need no description. */
export function narrate(before: Model, after: Model, event: DemoEvent): readonly LogLine[] {
  const atMs = event.atMs - (after.beganAtMs ?? event.atMs);
  return sentences(before, after, event).map(([tone, text]) => ({ atMs, tone, text }));
}

type Sentence = readonly [tone: LogLine["tone"], text: string];

function sentences(before: Model, after: Model, event: DemoEvent): readonly Sentence[] {
  switch (event.kind) {
    case "began":
      return beginning(after);
    case "node-killed":
      return [["warning", killed(after, event.node)]];
    case "node-back":
      return [["good", event.memory === "kept" ? backFromDisk(event.node) : backEmpty(event.node, event.awayMs)]];
    case "paused":
      return [["warning", paused(after, event.worker, event.resource)]];
    case "entered":
      return before.pause?.successor !== after.pause?.successor ? succession(after) : [];
    case "resumed":
      return [["warning", resumed(after, event.worker, event.pausedMs)]];
    case "left":
      return event.visit.worker === after.setup.sleeper ? lateWrite(event.visit) : staleWrite(event.visit);
    case "lock-lost":
      if (event.worker === after.setup.sleeper) return [];
      return [["warning", `${event.worker} lost its lock, and wrote nothing: ${event.message}`]];
    case "unreachable":
      return [["warning", `${event.worker} gave up: ${event.message}`]];
    case "worker-failed":
      return [["bad", `${event.worker} failed: ${event.message}`]];
    case "cut-short":
      return [["bad", `The run was cut short: ${event.message}`]];
    default:
      return [];
  }
}

function beginning({ setup }: Model): readonly Sentence[] {
  const plain = setup.resources.filter(({ fenced }) => !fenced).map(({ name }) => name);
  const fenced = setup.resources.filter((resource) => resource.fenced).map(({ name }) => name);
  const clients = setup.mode === "redis" ? " (half of them over ioredis, half over node-redis)" : "";
  const contention = `${setup.workers.length} workers${clients} read, wait and write counters:`;
  const protection = setup.locked
    ? `only the lock protects ${listed(plain)}; ${listed(fenced)} also checks fencing tokens.`
    : `nothing protects ${listed([...plain, ...fenced])}, as there are no tokens without locks.`;
  return [["plain", `${contention} ${protection}`]];
}

function killed({ nodes, setup }: Model, node: string): string {
  const left = nodes.filter(({ state }) => state === "up").length;
  const enough = left > setup.quorum ? "the work continues" : "just enough";
  return `${node} was killed. ${left} of ${nodes.length} nodes are left and ${setup.quorum} must agree: ${enough}.`;
}

function backFromDisk(node: string): string {
  return `${node} is back on its port, and has read its claims and counters from disk.`;
}

function backEmpty(node: string, awayMs: number): string {
  return `${node} is back, and empty. It was down for ${seconds(awayMs)}, longer than the ttl: no lock that it forgot can still be valid.`;
}

function paused({ setup }: Model, worker: string, resource: string): string {
  const how = setup.mode === "redis" ? "its process is stopped (SIGSTOP)" : "it stalls like a stopped process";
  return setup.locked
    ? `${worker} holds ${resource} and has checked its lock. Right before it writes, ${how}: the ttl runs out.`
    : `${worker} has read ${resource}. Right before it writes, ${how}.`;
}

function succession({ pause, setup }: Model): readonly Sentence[] {
  const { worker, fence } = pause?.successor ?? { worker: "", fence: 0 };
  if (!setup.locked) return [];
  return [["plain", `${worker} is granted ${setup.sleeperResource}, with the larger token ${fence}.`]];
}

function resumed({ setup }: Model, worker: string, pausedMs: number): string {
  const mistake = setup.locked ? ` It believes that it holds the lock (ttl ${seconds(setup.ttlMs)}), and writes.` : "";
  return `${worker} continues after ${seconds(pausedMs)}, unaware of the pause.${mistake}`;
}

function lateWrite({ worker, fence, write, newestFence }: Visit): readonly Sentence[] {
  if (write === "none") return [["warning", `${worker} wrote nothing.`]];
  if (write === "accepted") {
    return [
      [
        "bad",
        `ACCEPTED: without a token, the database could not know that ${worker} was late. The write undid those of others.`,
      ],
    ];
  }
  return [
    ["good", `REFUSED: the database has seen token ${newestFence}, and the token of ${worker} is ${fence}.`],
    ["plain", "Without tokens, this write would have undone another worker's. No lock can prevent that."],
  ];
}

function staleWrite({ worker, resource, fence, write, newestFence }: Visit): readonly Sentence[] {
  if (write !== "refused") return [];
  return [["warning", `A late write of ${worker} to ${resource} was refused: ${fence} is below ${newestFence}.`]];
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
