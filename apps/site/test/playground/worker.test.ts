import { drawScenario, type Scenario, simulate, type Trace } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { captionsOf } from "../../src/playground/captions.ts";
import { crashClient, crashNode } from "../../src/playground/free-play.ts";
import { shortNames } from "../../src/playground/short-names.ts";
import { stories } from "../../src/playground/stories.ts";
import { type PlayReply, type PlayRequest, play, serve } from "../../src/playground/worker.ts";

async function traceOf(scenario: Scenario): Promise<Trace> {
  const { trace } = await simulate(scenario, { trace: true });
  if (trace === undefined) throw new Error("there is no trace");
  return trace;
}

const pause = { subject: { kind: "story", id: "pause" }, faults: [] } as const;

describe("play()", () => {
  it("play() returns the run as plain data", async () => {
    const reply = await play({ id: 7, ...pause });
    const scenario = stories.find(({ id }) => id === "pause")?.scenario ?? { clients: [] };
    const { trace } = shortNames(await traceOf(scenario));
    const paused = "client 1 is paused for 2000 ms, between looking at its lock and acting";
    const faults = [{ kind: "pause before acting", atMs: 50, what: paused }];
    const what = "lock 1 and lock 2 on file are both believed to be valid";
    const violations = [{ checker: "mutual exclusion", atMs: trace.leases[1]?.fromMs, what }];
    const run = { trace, violations, faults, ttlMs: 1000, captions: captionsOf(trace), lines: expect.any(Array) };
    expect(structuredClone(reply)).toEqual({ id: 7, run });
  });

  it("play() names only the storages that are drawn in its lines, and no attempts", async () => {
    const reply = await play({ id: 7, ...pause });
    const lines = "run" in reply ? reply.run.lines : [];
    expect(lines.filter(({ who }) => /stor|fenc/i.test(who))).toMatchObject([
      { who: "With fencing", what: "refuses lock 1, token 1: it was shown token 2" },
      { who: "Without fencing", what: "loses the update of lock 2 on file: lock 1 had not read it" },
    ]);
    expect(lines.filter(({ what }) => /\d\.\d|fence/.test(what))).toEqual([]);
    expect(lines.map(({ what }) => what)).toContain("makes attempts 2 to 11, not granted");
  });

  it("play() puts the faults of the reader last", async () => {
    const reply = await play({ id: 7, ...pause, faults: [crashNode("C", 30)] });
    const faults = "run" in reply ? reply.run.faults : [];
    expect(faults.map(({ kind }) => kind)).toEqual(["pause before acting", "node crash"]);
  });

  it.each(["lock-breaking", "healed"] as const)(
    "play() runs a seed with %s faults as the simulation does",
    async (faults) => {
      const reply = await play({ id: 7, subject: { kind: "seed", faults, seed: 4 }, faults: [] });
      expect("run" in reply && reply.run.trace).toEqual(await traceOf(drawScenario(faults, 4)));
    },
  );

  it.each([
    ["node", crashNode("F", 1)],
    ["client", crashClient("client 3", 1)],
  ])("play() returns an error as text if a fault names an unknown %s", async (_kind, fault) => {
    const reply = await play({ id: 8, ...pause, faults: [fault] });
    expect(reply).toEqual({ id: 8, error: expect.stringMatching(/names "(F|client 3)", which is not one of A, B/) });
  });
});

describe("serve()", () => {
  it("serve() answers each request of a worker", async () => {
    const replies: PlayReply[] = [];
    const answered = new Promise<void>((resolve) => {
      const scope = {
        onmessage: null as ((event: { readonly data: PlayRequest }) => void) | null,
        postMessage: (reply: PlayReply) => {
          if (replies.push(reply) === 2) resolve();
        },
      };
      serve(scope);
      for (const id of [1, 2]) scope.onmessage?.({ data: { id, ...pause } });
    });
    await answered;
    expect(replies.map(({ id }) => id)).toEqual([1, 2]);
  });
});
