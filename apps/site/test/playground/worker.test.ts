import { drawScenario, simulate } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { crashClient, crashNode } from "../../src/playground/free-play.ts";
import { stories } from "../../src/playground/stories.ts";
import { type PlayReply, type PlayRequest, play, serve } from "../../src/playground/worker.ts";

const pause = { subject: { kind: "story", id: "pause" }, faults: [] } as const;

describe("play()", () => {
  it("play() returns the run as plain data", async () => {
    const reply = await play({ id: 7, ...pause });
    const scenario = stories.find(({ id }) => id === "pause")?.scenario ?? { clients: [] };
    const { trace, violations } = await simulate(scenario, { trace: true });
    const what = "client 1 is paused for 2000 ms, between looking at its lock and acting";
    const faults = [{ kind: "pause before acting", atMs: 50, what }];
    expect(structuredClone(reply)).toEqual({ id: 7, run: { trace, violations, faults, ttlMs: 1000 } });
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
      const { trace } = await simulate(drawScenario(faults, 4), { trace: true });
      expect("run" in reply && reply.run.trace).toEqual(trace);
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
