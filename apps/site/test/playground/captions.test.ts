import { describe, expect, it } from "vitest";
import { readAddress } from "../../src/playground/address.ts";
import { captionsOf, captionText, sentenceAt } from "../../src/playground/captions.ts";
import { scenarioOf } from "../../src/playground/play.ts";
import { storyTexts } from "../../src/playground/story-texts.ts";
import { runOf, traceOf } from "../support/runs.ts";

/** The sentences of a run, each as it reads at its start. */
async function told(hash: string): Promise<string[]> {
  const { captions } = await runOf(hash);
  return captions.map((caption) => captionText(caption, caption.fromMs));
}

describe("captionsOf()", () => {
  it("captionsOf() tells a pause past the ttl", async () => {
    expect(await told("#story=pause")).toEqual([
      "Client 1 asks 5 nodes for the lock. It needs 3.",
      "Client 1 has the lock, with token 1.",
      "Client 2 wants the lock that client 1 has.",
      "Client 1 is paused. Its lock expires in 880 ms.",
      "The lock expires, and client 1 cannot know.",
      "Client 2 gets the lock, too, with token 2.",
      "Client 2 writes, and both storages accept it.",
      "Client 1 goes on, and writes as if it had the lock.",
      "The late write of client 1 arrives. Without fencing, the update of client 2 is lost. " +
        "With fencing, it is refused: its token 1 is older than 2.",
    ]);
  });

  it.each([
    ["late-write", "The network delays the write of client 1. Its lock expires in 880 ms."],
    ["late-write", "The lock of client 1 expires, and its write is still on its way."],
    [
      "late-write-between",
      "Client 2 writes. Without fencing and with fencing of writes only, the update of client 1 is lost. " +
        "With fencing, it is accepted.",
    ],
    [
      "guarded-table",
      "The late write of client 1 arrives. Without fencing and with fencing, the update of client 2 is lost. " +
        "In the guarded table, it is refused: it shows no token.",
    ],
    ["node-clock", "The clock of node C is set forward by 1000 ms. Claims on it end too early."],
    ["client-clock", "The clock of client 1 is set back by 10000 ms. A second clock still ends its lock in time."],
    ["client-clock", "Client 1 has the lock, with a higher token: 3."],
    ["lost-reply", "Replies of C, D and E are lost: client 1 cannot know that they granted."],
    ["lost-reply", "Client 1 counts too few votes. It frees its claims, and tries again."],
    ["restart", "Node C is back. It has forgotten its claims, and may grant again."],
    ["restart-guard", "Node C is back, and does not vote for 1000 ms: what it forgot expires."],
    ["split-vote", "Client 1, client 2 and client 3 count too few votes. They free their claims, and try again."],
    ["rolling-restart", "Node E goes down. 4 of 5 are left."],
    ["rolling-restart", "Node E is back, with what it knew."],
  ])("captionsOf() says in the story %s: %s", async (id, sentence) => {
    expect(await told(`#story=${id}`)).toContain(sentence);
  });

  it("captionsOf() tells a write that a client does not send where its read was refused", async () => {
    const { faults = [], ...scenario } = scenarioOf(readAddress("#story=node-clock"));
    const late = { kind: "late access", client: "client 1", access: 1, byMs: 100 } as const;
    const captions = captionsOf(await traceOf({ ...scenario, faults: [...faults, late] }));
    expect(captions.at(-1)?.text).toBe(
      "Client 1 writes. Without fencing, the update of client 2 is lost. " +
        "With fencing, it is not sent: the read was refused.",
    );
  });

  it("captionsOf() tells what the reader does", async () => {
    const deeds = ["crash client 2 50", "cut-1 A 100", "pause client 1 700", "clock-forward client 1 900"];
    const sentences = await told(`#story=free&${deeds.map((deed) => `do=${deed}`).join("&")}`);
    expect(sentences).toContain("Client 2 crashes. Its claims expire in 963 ms.");
    expect(sentences).toContain("Messages between client 1 and A are lost.");
    expect(sentences).toContain("Client 1 is paused: none of its code runs.");
    expect(sentences).toContain("The clock of client 1 is set forward by 1000 ms. Its lock ends earlier.");
    expect(sentences.join()).not.toMatch(/NaN|Infinity|undefined|\{/);
  });
});

describe("sentenceAt()", () => {
  it.each(storyTexts)("sentenceAt() leaves time to read each sentence of $id", async ({ id, line }) => {
    const { trace, captions: after } = await runOf(`#story=${id}`);
    const captions = [{ fromMs: 0, text: line }, ...after];
    const sentences = captions.map(({ fromMs }) => sentenceAt(captions, trace.endedAtMs, fromMs));
    for (const [index, { fromMs, text }] of captions.entries()) {
      const next = captions[index + 1]?.fromMs ?? trace.endedAtMs;
      expect(sentences[index]).toMatchObject({ fromMs, untilMs: next });
      if (index > 0 && index < captions.length - 1)
        expect(text.length / (sentences[index]?.readingS ?? 0), text).toBeLessThan(20.01);
    }
    const readingS = sentences.reduce((sum, sentence) => sum + sentence.readingS, 0);
    if (id === storyTexts[0]?.id) expect(readingS).toBeLessThan(20);
  });
});
