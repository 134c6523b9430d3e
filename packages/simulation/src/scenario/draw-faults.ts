import type { Dice } from "./dice.ts";
import type { Fault } from "./fault.ts";
import type { FaultClass, Hazard, OrdinaryKind } from "./fault-classes.ts";
import { type FullSettings, operatorName } from "./scenario.ts";

/** The parts of a scenario that its faults depend on. */
export interface Outline {
  readonly settings: FullSettings;
  /** How many nodes may stay down for good. */
  readonly minority: number;
  readonly nodes: readonly string[];
  readonly clients: readonly string[];
  /** The longest ttl that any claim may have, in milliseconds. */
  readonly longestTtlMs: number;
  /** Roughly how long the work takes: faults strike within this time. */
  readonly horizonMs: number;
  /** Whether the set of nodes changes meanwhile. */
  readonly isChanging: boolean;
}

/** The longest pause before an access, in milliseconds: less than the margin that careful clients keep. */
export const longestSlipMs = 5;

/** The largest drift of a clock: the rates of two clocks then differ by less than core's allowance of 1 %. */
const mostDrift = 0.0045;

/** The largest error of a wall clock, in milliseconds: far more than any ttl. */
const farMs = 5_000_000;

/** Draws faults of each kind within the limits that a lock must survive. */
const ordinary: Readonly<Record<OrdinaryKind, (dice: Dice, outline: Outline) => Fault[]>> = {
  "lost message": (dice, outline) =>
    many(dice, 20, () => ({ kind: "lost message", ...message(dice, outline), part: dice.pick(["request", "reply"]) })),

  "late message": (dice, outline) => {
    const { nodeTimeoutMs, ttlMs } = outline.settings;
    const mostMs = dice.pick([0.9 * nodeTimeoutMs, 3 * ttlMs]); // in time, or long after the client gave up
    return many(dice, 20, () => ({
      ...{ kind: "late message", ...message(dice, outline), part: dice.pick(["request", "reply"]) },
      byMs: dice.between(0, mostMs),
    }));
  },

  "repeated message": (dice, outline) =>
    many(dice, 15, () => ({
      ...{ kind: "repeated message", ...message(dice, outline) },
      afterMs: lateness(dice, outline),
    })),

  "lost notification": (dice, outline) =>
    many(dice, 15, () => ({ kind: "lost notification", ...notification(dice, outline) })),

  "late notification": (dice, outline) =>
    many(dice, 15, () => ({
      kind: "late notification",
      ...notification(dice, outline),
      byMs: lateness(dice, outline),
    })),

  "repeated notification": (dice, outline) =>
    many(dice, 15, () => ({
      kind: "repeated notification",
      ...notification(dice, outline),
      afterMs: lateness(dice, outline),
    })),

  "failed watch": (dice, outline) =>
    many(dice, 6, () => ({
      ...{ kind: "failed watch", client: dice.pick(outline.clients), node: dice.pick(outline.nodes) },
      ...{ watch: dice.integer(1, dice.pick([1, 3])), isSilent: dice.chance(0.5) },
    })),

  "broken watch": (dice, outline) =>
    many(dice, 6, () => ({
      ...{ kind: "broken watch", client: dice.pick(outline.clients), node: dice.pick(outline.nodes) },
      atMs: moment(dice, outline),
    })),

  partition: (dice, outline) =>
    many(dice, 3, () => ({
      ...{ kind: "partition", part: dice.pick(["requests", "replies", "both"]), ...span(dice, outline, 2) },
      clients: dice.some(outline.clients, dice.integer(1, outline.clients.length)),
      nodes: dice.some(outline.nodes, dice.integer(1, outline.nodes.length)),
    })),

  "node crash": (dice, outline) => {
    const minority = dice.some(outline.nodes, outline.minority);
    const isForGood = dice.chance(0.2);
    const crash = (node: string, forMs: number): Fault => ({
      ...{ kind: "node crash", node, atMs: moment(dice, outline), forMs, memory: "kept", isSilent: dice.chance(0.5) },
    });
    return isForGood
      ? minority.map((node) => crash(node, Infinity))
      : many(dice, 4, () => crash(dice.pick(outline.nodes), dice.between(1, 1.5 * outline.settings.ttlMs)));
  },

  "delayed restart": (dice, outline) => {
    const { longestTtlMs } = outline;
    return many(dice, 6, () => ({
      ...{ kind: "node crash", node: dice.pick(outline.nodes), atMs: moment(dice, outline), memory: "lost" },
      isSilent: dice.chance(0.5),
      ...(dice.chance(0.5)
        ? { forMs: dice.between(1, 1.5) * longestTtlMs }
        : { forMs: dice.between(1, longestTtlMs / 10), guardMs: longestTtlMs }),
    }));
  },

  "client crash": (dice, outline) => [
    { kind: "client crash", client: dice.pick(outline.clients), atMs: moment(dice, outline) },
  ],

  // Only of clients: a jump of the clock by which a node expires claims is a hazard.
  "clock jump": (dice, outline) => [
    ...dice.some(outline.clients, 1).map((of) => jump(of, 0, dice.between(-farMs, farMs))),
    ...many(dice, 4, () => jump(dice.pick(outline.clients), moment(dice, outline), dice.between(-5000, 5000))),
  ],

  "clock drift": (dice, { clients, nodes }) => {
    // Either every clock drifts independently, or the worst case: fast nodes and slow clients.
    const isWorst = dice.chance(0.5);
    const drift = (of: string, most: number): Fault => {
      return { kind: "clock drift", of, rate: 1 + (isWorst ? most : dice.between(-mostDrift, mostDrift)) };
    };
    return [...clients.map((of) => drift(of, -mostDrift)), ...nodes.map((of) => drift(of, mostDrift))];
  },

  pause: (dice, outline) =>
    many(dice, 5, () => ({
      ...{ kind: "pause", client: dice.pick(outline.clients), ...span(dice, outline, 2) },
      step: dice.chance(0.3) ? 0 : dice.integer(1, 40),
    })),

  "pause before acting": (dice, outline) =>
    many(dice, 5, () => ({
      ...{ kind: "pause before acting", client: dice.pick(outline.clients), atMs: moment(dice, outline) },
      forMs: dice.between(0, longestSlipMs),
    })),

  suspension: (dice, outline) =>
    many(dice, 3, () => ({ kind: "suspension", client: dice.pick(outline.clients), ...span(dice, outline, 2) })),
};

/** All kinds that a lock survives, in the order in which their faults are listed. */
export const ordinaryKinds: readonly OrdinaryKind[] = Object.keys(ordinary) as OrdinaryKind[];

const hazards: Readonly<Record<Hazard, (dice: Dice, outline: Outline) => Fault[]>> = {
  "late act": (dice, outline) =>
    many(dice, 6, () => {
      const [client, lateMs] = [dice.pick(outline.clients), outline.settings.ttlMs * dice.between(1, 3)];
      return dice.chance(0.5)
        ? { kind: "pause before acting", client, atMs: moment(dice, outline), forMs: lateMs }
        : { kind: "late access", client, access: dice.integer(1, 12), byMs: lateMs };
    }),

  "node clock jump": (dice, outline) =>
    many(dice, 4, () => {
      const [atMs, byMs] = [moment(dice, outline), outline.settings.ttlMs * dice.between(-2, 3)];
      return dice.some(outline.nodes, dice.integer(1, outline.nodes.length)).map((of) => jump(of, atMs, byMs));
    }).flat(),

  "memory loss": (dice, outline) => many(dice, 3, () => amnesia(dice, outline, moment(dice, outline))).flat(),

  "memory loss and a clock set back": (dice, outline) => {
    const atMs = moment(dice, outline);
    const clients = dice.some(outline.clients, dice.integer(1, outline.clients.length));
    return [...amnesia(dice, outline, atMs), ...clients.map((of) => jump(of, atMs, -dice.between(1000, 5000)))];
  },

  // Clocks that are wrong by more than a day also make nodes cap the tokens that clients propose.
  "empty restart": (dice, outline) => {
    const wrong = dice.some(outline.clients, dice.integer(0, outline.clients.length));
    return [
      ...many(dice, 4, () => emptyRestart(dice, outline, dice.chance(0.7))).flat(),
      ...wrong.map((of) => jump(of, moment(dice, outline), -dice.between(1000, 5000))),
      ...wrongClocks(dice.fork("clocks"), outline),
    ];
  },
};

const dayMs = 86_400_000;

/** Wall clocks that are wrong from the start: those of clients, and in some worlds those of nodes. */
function wrongClocks(dice: Dice, { clients, nodes }: Outline): Fault[] {
  if (dice.chance(0.3)) return [];
  const areNodesWrong = dice.chance(0.3);
  return [
    ...clients.map((of) => jump(of, 0, dice.between(-farMs, farMs))),
    ...nodes.filter(() => areNodesWrong && dice.chance(0.5)).map((of) => jump(of, 0, dice.between(-3, 1) * dayMs)),
  ];
}

/**
 * A node that comes back empty, and that an operator heals at once or later. In half of the cases, clients reach only
 * some of the other nodes before it, and only the rest of them afterwards: then all depends on the counters of this one.
 */
function emptyRestart(dice: Dice, outline: Outline, isHeldBack: boolean): Fault[] {
  const { nodes, clients, longestTtlMs } = outline;
  const node = dice.pick(nodes);
  const [atMs, forMs, guardMs] = [moment(dice, outline), dice.between(1, longestTtlMs / 10), longestTtlMs * 1.02];
  const healAfterMs = dice.pick([0, dice.between(0, longestTtlMs), dice.between(1, 3) * longestTtlMs]);
  const healed = isHeldBack ? "before it votes" : "while it votes";
  const isSilent = dice.chance(0.5);
  const crash: Fault = {
    kind: "node crash",
    node,
    atMs,
    memory: "lost",
    forMs,
    isSilent,
    guardMs,
    healed,
    healAfterMs,
  };
  if (dice.chance(0.5)) return [crash];
  const others = dice.some(
    nodes.filter((other) => other !== node),
    nodes.length - 1,
  );
  const half = Math.floor(others.length / 2);
  const lockers = clients.filter((client) => client !== operatorName);
  const cut = (cutOff: readonly string[], fromMs: number, lastsMs: number): Fault => {
    return { kind: "partition", clients: lockers, nodes: cutOff, part: "both", atMs: fromMs, forMs: lastsMs };
  };
  const healedMs = atMs + Math.max(forMs + guardMs, healAfterMs) + 4 * outline.settings.nodeTimeoutMs;
  const beforeMs = dice.between(0.5, 2) * longestTtlMs;
  return [
    crash,
    cut(others.slice(half), Math.max(0, atMs - beforeMs), Math.min(atMs, beforeMs)),
    cut(others.slice(0, half), healedMs, dice.between(0.5, 2) * longestTtlMs),
  ];
}

/** Faults that strike the operator and, in some worlds, nodes that come back empty while their set changes. */
function drawChangingFaults(dice: Dice, outline: Outline): Fault[] {
  const crash = (): Fault => ({ kind: "client crash", client: operatorName, atMs: moment(dice, outline) });
  return [
    ...(dice.chance(0.5) ? many(dice, 4, crash) : []),
    ...(dice.chance(0.3) ? many(dice, 3, () => emptyRestart(dice, outline, true)).flat() : []),
    ...wrongClocks(dice.fork("clocks"), outline),
  ];
}

/**
 * Once counters are lost, the order of tokens depends on clients with correct wall clocks and attempts that start after
 * the loss. These kinds would break that.
 */
const notWithLostCounters: readonly OrdinaryKind[] = ["clock jump", "clock drift", "pause", "suspension"];

/** The kinds that must not strike together with a hazard: more would break than the class allows. */
const spared: Readonly<Record<Hazard, readonly OrdinaryKind[]>> = {
  "late act": [],
  "node clock jump": [],
  "memory loss": notWithLostCounters,
  "memory loss and a clock set back": [],
  // If the wall clock is set back while the monotonic one stands still, no clock is right.
  "empty restart": ["delayed restart", "suspension"],
};

/**
 * Draws the faults of a class. Each kind strikes in about half of the runs, as some faults hide the effect of others.
 */
export function drawFaults(dice: Dice, { hazards: possible }: FaultClass, outline: Outline): Fault[] {
  const { isChanging } = outline;
  const hazard = possible.length > 0 ? dice.fork("hazard").pick(possible) : undefined;
  const impossible = new Set([
    ...(hazard === undefined ? [] : spared[hazard]),
    ...excluded(dice, outline),
    ...(isChanging ? ["delayed restart"] : []),
  ]);
  const kinds = ordinaryKinds.filter((kind) => !impossible.has(kind) && dice.fork(kind).fork("strikes").chance(0.5));
  const drawn = kinds.flatMap((kind) => ordinary[kind](dice.fork(kind), outline));
  if (isChanging) return [...drawn.filter(isPassing), ...drawChangingFaults(dice.fork("changing"), outline)];
  if (hazard === "empty restart") return [...drawn.filter(isPassing), ...hazards[hazard](dice.fork(hazard), outline)];
  return hazard === undefined ? drawn : [...drawn, ...hazards[hazard](dice.fork(hazard), outline)];
}

/** Whether a fault ends by itself: without enough nodes, an operator cannot finish. */
function isPassing(fault: Fault): boolean {
  return fault.kind !== "node crash" || Number.isFinite(fault.forMs);
}

/** Draws the kinds to leave out because no lock survives their combination. */
function excluded(dice: Dice, { settings }: Outline): readonly OrdinaryKind[] {
  if (dice.fork("counters").chance(0.3)) return notWithLostCounters;
  return ["delayed restart", ...excludedByClocks(dice, settings)];
}

function excludedByClocks(dice: Dice, settings: FullSettings): OrdinaryKind[] {
  // After a pause, code may run before the timer that aborts the signal, so a client that trusts the signal is not
  // paused.
  if (settings.trust === "signal") return ["pause", "pause before acting", "suspension"];
  // If the wall clock is set back while the monotonic one stands still, no clock is right.
  return [dice.fork("clocks").chance(0.5) ? "suspension" : "clock jump"];
}

/** Nodes that crash and lose their memory. They stay down longer than an attempt lasts, so attempts under way fail. */
function amnesia(dice: Dice, { nodes, settings }: Outline, atMs: number): Fault[] {
  return dice.some(nodes, dice.integer(1, nodes.length)).map((node) => ({
    ...{ kind: "node crash", node, atMs, memory: "lost", isSilent: dice.chance(0.5) },
    forMs: settings.nodeTimeoutMs * dice.between(1, 2),
  }));
}

function jump(of: string, atMs: number, byMs: number): Fault {
  return { kind: "clock jump", of, atMs, byMs };
}

function many<T>(dice: Dice, most: number, draw: () => T): T[] {
  return Array.from({ length: dice.integer(1, most) }, draw);
}

/** Draws a message. Early ones are likelier, as a connection may carry few. */
function message(dice: Dice, { clients, nodes }: Outline) {
  return { client: dice.pick(clients), node: dice.pick(nodes), message: dice.integer(1, dice.pick([5, 30])) };
}

/** Draws a notification. Early ones are likelier, too. */
function notification(dice: Dice, { clients, nodes }: Outline) {
  return { client: dice.pick(clients), node: dice.pick(nodes), notification: dice.integer(1, dice.pick([3, 15])) };
}

/** Draws a delay: short enough for the message to matter, or far too long. */
function lateness(dice: Dice, { settings }: Outline): number {
  return dice.between(0, dice.pick([settings.nodeTimeoutMs, 3 * settings.ttlMs]));
}

function moment(dice: Dice, { horizonMs }: Outline): number {
  return dice.between(0, horizonMs);
}

/** Draws a span of time that lasts up to `ttls` ttls. */
function span(dice: Dice, outline: Outline, ttls: number) {
  return { atMs: moment(dice, outline), forMs: dice.between(0, ttls * outline.settings.ttlMs) };
}
