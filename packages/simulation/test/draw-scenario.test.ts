import { drawScenario, type FaultClassName, faultClasses, type Operation } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";

const names = Object.keys(faultClasses) as FaultClassName[];
const withOperator: readonly FaultClassName[] = ["healed", "changing"];
const scenarios = names.flatMap((faults) =>
  Array.from({ length: 200 }, (_, index) => ({ faults, scenario: drawScenario(faults, index + 1) })),
);

function faultsOf(wanted: FaultClassName) {
  return scenarios.filter(({ faults }) => faults === wanted).map(({ scenario }) => scenario.faults ?? []);
}

describe("drawScenario()", () => {
  it("drawScenario() draws the same scenario from the same seed, and a different one from each other seed", () => {
    expect(drawScenario("survivable", 5)).toEqual(drawScenario("survivable", 5));
    expect(new Set(scenarios.map(({ scenario }) => JSON.stringify(scenario))).size).toBe(scenarios.length);
    expect(drawScenario("survivable", 2 ** 40)).not.toEqual(drawScenario("survivable", 0));
  });

  it("drawScenario() keeps a survivable node that forgets down, or from voting, for the longest ttl", () => {
    let restarts = 0;
    for (const { scenario } of scenarios.filter(({ faults }) => faults === "survivable")) {
      const operations = scenario.clients.flatMap(({ workers }) => workers.flat());
      const ttls = operations.flatMap(({ ttlMs = 0, extendMs = 0 }) => [ttlMs, extendMs]);
      const longestTtlMs = Math.max(scenario.settings?.ttlMs ?? 0, ...ttls);
      for (const fault of scenario.faults ?? []) {
        if (fault.kind !== "node crash" || fault.memory === "kept") continue;
        expect(Math.max(fault.forMs, fault.guardMs ?? 0)).toBeGreaterThanOrEqual(longestTtlMs);
        restarts += 1;
      }
    }
    expect(restarts).toBeGreaterThan(20);
  });

  it("drawScenario() lets the resources of some worlds share fence counters, under faults of each class", () => {
    for (const wanted of names) {
      const drawn = scenarios.filter(({ faults }) => faults === wanted);
      const counters = drawn.map(({ scenario }) => scenario.settings?.counters);
      for (const each of [1, 3, Infinity]) expect(counters).toContain(each);
    }
  });

  it("drawScenario() lets a client in some worlds advance one of the two counters of the others' locks", () => {
    const worlds = scenarios.filter(({ scenario }) => scenario.clients[0]?.workers[0]?.[0]?.resources[0] === "book");
    const isAmong = (name: string, { clients }: (typeof scenarios)[0]["scenario"]): boolean =>
      clients.slice(1).some(({ workers }) => workers[0]?.some(({ resources }) => resources.includes(name)));
    const next = worlds.filter(({ scenario }) => scenario.nodes === 3 && scenario.settings?.counters === 3);
    const both = next.filter(({ scenario }) => isAmong("cash", scenario) && isAmong("stock", scenario));
    expect(both.length).toBeGreaterThan(8);
  });

  it("drawScenario() gives each resource a counter of its own where hundreds of them are locked at once", () => {
    const { clients, settings } = drawScenario("healed", 2920);
    expect(clients[0]?.workers.length).toBeGreaterThan(500);
    expect(settings?.counters).toBe(Infinity);
  });

  it("drawScenario() keeps client clocks correct where nodes lose counters, except under fence-breaking faults", () => {
    const forgetful = [...faultsOf("survivable"), ...faultsOf("lock-breaking")].filter((faults) =>
      faults.some((fault) => fault.kind === "node crash" && fault.memory === "lost"),
    );
    expect(forgetful.length).toBeGreaterThan(40);
    const wrong = forgetful
      .flat()
      .filter((fault) => ["pause", "suspension"].includes(fault.kind) || ("of" in fault && /^client/.test(fault.of)));
    expect(wrong).toEqual([]);
  });

  it("drawScenario() draws lost counters and clocks set back under fence-breaking faults", () => {
    for (const faults of faultsOf("fence-breaking")) {
      expect(faults).toContainEqual(expect.objectContaining({ kind: "node crash", memory: "lost" }));
      expect(faults.some((fault) => fault.kind === "clock jump" && fault.byMs < 0)).toBe(true);
    }
  });

  it("drawScenario() crashes no more nodes for good than a quorum can spare", () => {
    for (const { scenario } of scenarios) {
      const { nodes = 5, settings, faults = [] } = scenario;
      const quorum = settings?.quorum ?? Math.floor(nodes / 2) + 1;
      const gone = faults.filter((fault) => fault.kind === "node crash" && fault.forMs === Infinity);
      expect(gone.length).toBeLessThanOrEqual(nodes - quorum);
    }
  });

  it("drawScenario() draws some worlds without faults, and some clients that do not listen", () => {
    const survivable = scenarios.filter(({ faults }) => faults === "survivable").map(({ scenario }) => scenario);
    expect(survivable.filter(({ faults = [] }) => faults.length === 0).length).toBeGreaterThan(20);
    expect(survivable.some(({ clients }) => clients.some(({ listens }) => listens === false))).toBe(true);
    const others = scenarios.filter(({ faults }) => faultClasses[faults].hazards.length > 0);
    expect(others.filter(({ scenario }) => scenario.faults?.length === 0)).toEqual([]);
  });

  it("drawScenario() shares locks in about a third of the worlds, in some of them with readers without a gap", () => {
    const modesOf = (operations: readonly Operation[]): (string | undefined)[] =>
      operations.flatMap(({ mode, under = [] }) => [mode, ...modesOf(under)]);
    const modes = scenarios.map(({ scenario }) => modesOf(scenario.clients.flatMap(({ workers }) => workers.flat())));
    const sharing = modes.filter((those) => those.includes("shared"));
    expect(sharing.length / scenarios.length).toBeGreaterThan(0.25);
    expect(sharing.length / scenarios.length).toBeLessThan(0.45);
    expect(modes.filter((those) => those.includes("exclusive")).length).toBeGreaterThan(10);
  });

  it("drawScenario() heals each node that forgets where there is an operator, and crashes none for good", () => {
    const crashes = withOperator
      .flatMap((faults) => faultsOf(faults).flat())
      .filter(({ kind }) => kind === "node crash");
    const forgetful = crashes.filter((fault) => "memory" in fault && fault.memory === "lost");
    expect(forgetful.length).toBeGreaterThan(300);
    for (const fault of forgetful) expect(fault).toHaveProperty("healed");
    expect(crashes.filter((fault) => "forMs" in fault && fault.forMs === Infinity)).toEqual([]);
    const early = forgetful.filter((fault) => "healed" in fault && fault.healed === "while it votes");
    expect(early.length).toBeGreaterThan(50);
  });

  it("drawScenario() draws changes to more nodes, to fewer, to others, to some of both, and back", () => {
    const memberships = scenarios.flatMap(({ scenario }) => scenario.membership ?? []);
    expect(memberships.length).toBe(200);
    const changes = memberships.flatMap(({ sets }) =>
      sets.slice(1).map((set, index) => [sets[index] ?? [], set] as const),
    );
    const count = (isSo: (old: readonly string[], next: readonly string[]) => boolean): number =>
      changes.filter(([old, next]) => isSo(old, next)).length;
    const common = (old: readonly string[], next: readonly string[]) =>
      next.filter((name) => old.includes(name)).length;
    expect(count((old, next) => next.length > old.length)).toBeGreaterThan(20);
    expect(count((old, next) => next.length < old.length)).toBeGreaterThan(20);
    expect(count((old, next) => common(old, next) === 0)).toBeGreaterThan(20);
    expect(count((old, next) => common(old, next) > 0 && common(old, next) < next.length)).toBeGreaterThan(20);
    expect(memberships.filter(({ sets }) => sets.length > 2 && sets.at(-1) === sets[0]).length).toBeGreaterThan(3);
    for (const discipline of ["in order", "operator hurries", "clients hurry"]) {
      expect(memberships.filter((membership) => membership.discipline === discipline).length).toBeGreaterThan(20);
    }
  });

  it("drawScenario() sometimes draws a process with more calls than may be in flight at once", () => {
    const most = Math.max(
      ...scenarios.flatMap(({ scenario }) => scenario.clients.map(({ workers }) => workers.length)),
    );
    expect(most).toBeGreaterThanOrEqual(550);
  });
});
