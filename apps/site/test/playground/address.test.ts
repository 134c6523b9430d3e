import { drawScenario, type FaultClassName, faultClasses } from "@holdfast/simulation";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Address, classNames, readAddress, type Subject, writeAddress } from "../../src/playground/address.ts";
import {
  defaultPlay,
  type FreePlay,
  type PlayFault,
  playLimits,
  scenarioOfPlay,
} from "../../src/playground/free-play.ts";
import { scenarioOf } from "../../src/playground/scenario-of.ts";
import { stories } from "../../src/playground/stories.ts";

const ms = fc.integer({ min: 1, max: 50_000_000 }).map((microseconds) => microseconds / 1000);
const node = fc.constantFrom("A", "B", "C");
const client = fc.constantFrom("client 1", "client 2");
const kind = <K extends PlayFault["kind"]>(name: K) => fc.constant(name);
const isSilent = fc.constant(false);

const fault: fc.Arbitrary<PlayFault> = fc.oneof(
  fc.record({
    ...{ kind: kind("node crash"), node, atMs: ms, forMs: fc.oneof(ms, fc.constant(Infinity)), isSilent },
    memory: fc.constantFrom("kept", "lost"),
  }),
  fc.record({
    kind: kind("node crash"),
    node,
    atMs: ms,
    forMs: ms,
    isSilent,
    memory: fc.constant("lost"),
    guardMs: ms,
  }),
  fc.record({
    ...{ kind: kind("partition"), clients: fc.tuple(client), nodes: fc.tuple(node), atMs: ms, forMs: ms },
    part: fc.constantFrom("both", "requests", "replies"),
  }),
  fc.record({ kind: kind("pause"), client, atMs: ms, forMs: ms, step: fc.constant(0) }),
  fc.record({ kind: kind("pause before acting"), client, atMs: ms, forMs: ms }),
  fc.record({
    ...{ kind: kind("clock jump"), of: fc.oneof(node, client), atMs: ms },
    byMs: fc.oneof(
      ms,
      ms.map((each) => -each),
    ),
  }),
  fc.record({ kind: kind("client crash"), client, atMs: ms }),
  fc.record({ kind: kind("late access"), client, access: fc.integer({ min: 1, max: 999 }), byMs: ms }),
);

const within = (key: keyof FreePlay, least = playLimits[key][0]) => fc.integer({ min: least, max: playLimits[key][1] });
const play = fc.record({
  nodes: within("nodes", 3),
  clients: within("clients", 2),
  ttlMs: within("ttlMs"),
  thinkMs: within("thinkMs"),
  forMs: within("forMs"),
});

const subject: fc.Arbitrary<Subject> = fc.oneof(
  fc.constantFrom(...Object.keys(stories)).map((id) => ({ kind: "story" as const, id })),
  play.map((each) => ({ kind: "play" as const, play: each })),
);
const address: fc.Arbitrary<Address> = fc.record({
  subject,
  faults: fc.array(fault, { maxLength: 6 }),
  atMs: fc.oneof(ms, fc.constant(undefined)),
});

describe("writeAddress()", () => {
  it("writeAddress() writes what readAddress() reads", () => {
    fc.assert(
      fc.property(address, (each) => {
        expect(readAddress(writeAddress(each))).toEqual(each);
      }),
    );
  });

  it.each(Object.keys(faultClasses) as FaultClassName[])(
    "writeAddress() writes seeds with %s faults",
    async (faults) => {
      const seed: Address = { subject: { kind: "seed", faults, seed: 4 }, faults: [], atMs: undefined };
      expect(writeAddress(seed)).toBe(`#${faults}=4`);
      expect(readAddress(`#${faults}=4`)).toEqual(seed);
      expect(await scenarioOf(seed)).toEqual(drawScenario(faults, 4));
    },
  );

  it("writeAddress() is short and needs no escapes", () => {
    const text = "#play=ttl:500&do=crash:C:1200.5:ever:lost:500,clock:1:80:-250&t=1234.5";
    const own: Address = {
      subject: { kind: "play", play: { ...defaultPlay, ttlMs: 500 } },
      faults: [
        {
          ...{ kind: "node crash", node: "C", atMs: 1200.5, forMs: Infinity, memory: "lost", isSilent: false },
          guardMs: 500,
        },
        { kind: "clock jump", of: "client 1", atMs: 80, byMs: -250 },
      ],
      atMs: 1234.5,
    };
    expect(writeAddress(own)).toBe(text);
    expect(new URL(text, "https://example.org/playground").hash).toBe(text);
  });

  it("writeAddress() rounds a moment up, so that it does not fall behind what the cursor shows", () => {
    const at = (atMs: number): string => writeAddress({ subject: { kind: "story", id: "pause" }, faults: [], atMs });
    expect(at(4.0001)).toBe("#story=pause&t=4.001");
    expect(at(4.001)).toBe("#story=pause&t=4.001");
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e6, noNaN: true }), (atMs) => {
        const read = readAddress(at(atMs)) as Address;
        expect(read.atMs).toBeGreaterThanOrEqual(atMs);
        expect(read.atMs).toBeLessThanOrEqual(atMs + 0.0011);
      }),
    );
  });
});

describe("classNames", () => {
  it("classNames are those of the simulation", () => {
    expect(classNames).toEqual(Object.keys(faultClasses));
  });
});

describe("readAddress()", () => {
  it("readAddress() reads an empty address as the first story", () => {
    expect(readAddress("")).toEqual(readAddress(`#story=${Object.keys(stories)[0]}`));
  });

  it("readAddress() fills in what a scenario of the reader's own leaves out", async () => {
    const read = readAddress("#play=clients:3") as Address;
    expect(read.subject).toEqual({ kind: "play", play: { ...defaultPlay, clients: 3 } });
    expect(await scenarioOf(read)).toEqual(scenarioOfPlay({ ...defaultPlay, clients: 3 }));
  });

  it.each([
    ["#story=none", 'there is no story "none"'],
    ["#pause", '"pause" is not known'],
    ["#story=pause&t=", '"" is not a number from 0 to 86400000'],
    ["#story=pause&t=-1", '"-1" is not a number from 0 to 86400000'],
    ["#story=pause&t=1e5", '"1e5" is not a number from 0 to 86400000'],
    ["#story=pause&t=1&t=2", '"t" is there twice'],
    ["#story=pause&x=1", '"x" is not known'],
    ["#t=1", '"t" is not known'],
    ["#survivable=-1", '"-1" is not a whole number'],
    ["#survivable=1.5", '"1.5" is not a whole number'],
    ["#survivable=99999999999", '"99999999999" is not a number from 0 to 4294967296'],
    ["#play=nodes:8", '"8" is not a number from 1 to 7'],
    ["#play=nodes:3,nodes:4", '"nodes:4" is not a number of a scenario'],
    ["#play=toString:1", '"toString:1" is not a number of a scenario'],
    ["#story=pause&do=melt:C", '"melt" is not a fault'],
    ["#story=pause&do=toString:C", '"toString" is not a fault'],
    ["#story=pause&do=crash:C", '"crash:C" is not a whole fault'],
    ["#story=pause&do=crash:C:1:2:half", '"half" is not one of kept, lost'],
    ["#story=%", 'there is no story "%"'],
    ["#story=pause&do=crash:C:1:2:kept:5", '"crash:C:1:2:kept:5" guards a node that forgets nothing'],
    [`#story=pause&do=${Array.from({ length: 31 }, () => "kill:1:1").join(",")}`, "it has more than 30 faults"],
  ])("readAddress() says what is wrong with %s", (hash, what) => {
    expect(readAddress(hash)).toEqual({ error: `The address is wrong: ${what}.` });
  });

  it("readAddress() never throws, and what it accepts can be simulated", async () => {
    const word = fc.constantFrom(
      "story",
      "play",
      "do",
      "t",
      "=",
      "&",
      ":",
      ",",
      "pause",
      "crash",
      "C",
      "1",
      "nodes",
      "kill",
    );
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.array(word).map((words) => words.join("")),
        ),
        async (hash) => {
          const read = readAddress(hash);
          if (!("error" in read)) expect((await scenarioOf(read)).clients.length).toBeGreaterThan(0);
        },
      ),
    );
  });
});
