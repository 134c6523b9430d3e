import { memoryNode } from "@holdfast/memory";
import { type CreateNode, simulate, simulateSeeds, unexpectedViolations } from "@holdfast/simulation";
import { isNightly } from "@holdfast/testkit";
import { describe, expect, it } from "vitest";
import { altered, client, update } from "./scenes.ts";

async function violationsOf(createNode: CreateNode, seeds: number, from = 1): Promise<string> {
  const options = { faults: "survivable", from, count: seeds, createNode } as const;
  return unexpectedViolations("survivable", await simulateSeeds(options)).join("\n");
}

describe("createNode", () => {
  it("createNode replaces the memory nodes, and gets the world's clocks and random numbers", async () => {
    const sites: { name: string; wallMs: number; random: number }[] = [];
    const createNode: CreateNode = ({ name, clock, random }) => {
      sites.push({ name, wallMs: clock.wallMs(), random: random() });
      return memoryNode({ name, clock });
    };
    const count = 3;
    expect(
      unexpectedViolations("survivable", await simulateSeeds({ faults: "survivable", count, createNode })),
    ).toEqual([]);
    const first = [...sites];
    sites.length = 0;
    await simulateSeeds({ faults: "survivable", count, createNode });
    expect(sites).toEqual(first);
    expect(new Set(first.map(({ random }) => random)).size).toBe(first.length);
  });

  it("createNode gets the number of counters, which the default nodes have", async () => {
    const given: number[] = [];
    const createNode: CreateNode = ({ name, clock, counters }) => {
      given.push(counters);
      return memoryNode({ name, clock, counters });
    };
    const lock = (resource: string) => ({ by: "acquire" as const, resources: [resource], updates: 0 });
    const clients = ["client 1", "client 2"].map((name) => ({ name, workers: [[lock(name)]] }));
    for (const counters of [1, Infinity]) {
      const scenario = { nodes: 3, clients, settings: { counters } };
      const fences = async (options: { createNode?: CreateNode }) =>
        (await simulate(scenario, options)).history.locks.map(({ fence }) => fence);
      expect(await fences({ createNode })).toEqual(await fences({}));
      expect(given.splice(0)).toEqual([counters, counters, counters]);
    }
  });

  it("createNode may return a node without any optional method", async () => {
    const createNode: CreateNode = ({ name, clock }) => {
      const { acquire, extend, release } = memoryNode({ name, clock, fenceTtlMs: Infinity });
      return { name, acquire, extend, release };
    };
    expect(await violationsOf(createNode, isNightly ? 40 : 8)).toBe("");
  });

  /** Remembers the owner of each resource, and releases for whoever asks. */
  const releasingForAll = (): CreateNode => {
    const owners = new Map<string, string>();
    return altered(({ acquire, release }) => ({
      async acquire(request) {
        const reply = await acquire(request);
        if (reply.granted) for (const resource of request.resources) owners.set(resource, request.owner);
        return reply;
      },
      release: (request) => release({ ...request, owner: owners.get(request.resources[0] ?? "") ?? request.owner }),
    }));
  };

  it.each<[mistake: string, violation: string, createNode: CreateNode]>([
    [
      "that grants what another owner holds",
      "mutual exclusion is violated",
      altered(() => ({ acquire: async ({ fenceHint }) => ({ granted: true, fence: fenceHint }) })),
    ],
    [
      "that does not advance its counter",
      "fence order is violated",
      altered(({ acquire }) => ({
        async acquire(request) {
          const reply = await acquire(request);
          return reply.granted ? { granted: true, fence: request.fenceHint } : reply;
        },
      })),
    ],
    ["that releases for any owner", "mutual exclusion is violated", releasingForAll()],
    ["that never releases", "clean end", altered(() => ({ release: async () => ({ released: true }) }))],
    [
      "that grants a shared claim next to an exclusive one",
      "mutual exclusion is violated",
      altered(({ acquire }) => ({
        async acquire(request) {
          const reply = await acquire(request);
          return reply.granted || !request.shared ? reply : { granted: true, fence: request.fenceHint };
        },
      })),
    ],
    [
      "on which the first sharer after a writer does not advance the counter",
      "fence order is violated",
      altered(({ acquire, inspect }) => ({
        async acquire(request) {
          const views = await Promise.all(request.resources.map((resource) => inspect?.(resource)));
          const reply = await acquire(request);
          if (!reply.granted || !request.shared) return reply;
          return { granted: true, fence: Math.max(1, ...views.map((view) => view?.fence ?? 0)) };
        },
      })),
    ],
    [
      "that drops all sharers when one of them releases",
      "mutual exclusion is violated",
      altered(({ inspect, release }) => ({
        async release(request) {
          for (const resource of request.resources) {
            const { sharers = [] } = (await inspect?.(resource)) ?? {};
            if (!sharers.some(({ owner }) => owner === request.owner)) continue;
            for (const { owner } of sharers) await release({ ...request, owner, resources: [resource] });
          }
          return { released: true };
        },
      })),
    ],
    ["whose acquire() never answers", "clean end", altered(() => ({ acquire: () => new Promise<never>(() => {}) }))],
    [
      "whose acquire() throws",
      "clean end",
      altered(() => ({
        acquire: () => {
          throw new Error("broken");
        },
      })),
    ],
    ["whose acquire() answers nonsense", "clean end", altered(() => ({ acquire: () => "yes" as never }))],
  ])("unexpectedViolations() reports a node %s", async (_, violation, createNode) => {
    let told = "";
    for (let seed = 1; seed <= 60 && !told.includes(violation); seed++) told += await violationsOf(createNode, 1, seed);
    expect(told).toContain(violation);
  });

  it("simulate() reports a released claim as soon as it makes a node deny another owner", async () => {
    const createNode = altered(() => ({ release: async () => ({ released: true }) }));
    const [first, second] = [client(1, update()), client(2, update({ afterMs: 100 }))];
    const { violations } = await simulate({ nodes: 3, clients: [first, second] }, { createNode });
    expect(violations.map(({ what }) => what)).toContain(
      "node A denies others because of 1.1, although no caller has its lock",
    );
  });
});
