import { simulate } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { stories } from "../../src/playground/stories.ts";
import { type PlayReply, type PlayRequest, play, serve } from "../../src/playground/worker.ts";

const scenario = stories[0]?.scenario ?? { clients: [] };

describe("play()", () => {
  it("play() returns the run as plain data", async () => {
    const reply = await play({ id: 7, scenario });
    const { trace, violations } = await simulate(scenario, { trace: true });
    expect(structuredClone(reply)).toEqual({ id: 7, run: { trace, violations } });
  });

  it("play() returns an error as text", async () => {
    const faults = [{ kind: "client crash" as const, client: "nobody", atMs: 1 }];
    const reply = await play({ id: 8, scenario: { ...scenario, faults } });
    expect(reply).toEqual({ id: 8, error: expect.stringContaining('names "nobody"') });
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
      for (const id of [1, 2]) scope.onmessage?.({ data: { id, scenario } });
    });
    await answered;
    expect(replies.map(({ id }) => id)).toEqual([1, 2]);
  });
});
