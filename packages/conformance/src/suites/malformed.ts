import type { AcquireRequest, ExtendRequest, ReleaseRequest } from "@holdfast/core/node";
import { expect } from "vitest";
import { type Fact, facts } from "../fact.ts";
import { longMs } from "../world/durations.ts";
import { momentMs, nextFence } from "../world/world.ts";

/** Invalid fields: each one makes a valid request malformed. */
type Flaws = readonly Readonly<Record<string, unknown>>[];

const anyRequest: Flaws = [
  { resources: [] },
  { resources: [""] },
  { resources: ["", "r"] },
  { resources: undefined },
  { owner: "" },
  { owner: undefined },
];
const badNumbers: readonly unknown[] = [Number.NaN, Number.POSITIVE_INFINITY, 1.5, 2 ** 53, 7n, "7", null, undefined];
const ttls: Flaws = [0, -1, ...badNumbers].map((ttlMs) => ({ ttlMs }));
const hints: Flaws = badNumbers.map((fenceHint) => ({ fenceHint }));
const fences: Flaws = badNumbers.map((fence) => ({ fence }));
const takeovers: Flaws = [42, "", null].map((takeover) => ({ takeover }));
const waiters: Flaws = [42, "", null].map((waiter) => ({ waiter }));
const shares: Flaws = ["no", 1, null].map((shared) => ({ shared }));
const epochs: Flaws = [0, -1, ...badNumbers].filter((epoch) => epoch !== undefined).map((epoch) => ({ epoch }));
const undos: Flaws = ["no", 1, null].map((undo) => ({ undo }));
// The string "no" is truthy in JavaScript, and would rejoin.
const rejoins: Flaws = ["no", 1, null, undefined].map((rejoin) => ({ rejoin }));

/** Sends a valid request with each of the flaws, and fails unless all reject. */
export async function expectRejections<R extends object>(
  method: string,
  send: (request: R) => Promise<unknown>,
  valid: R,
  flaws: Flaws,
): Promise<void> {
  for (const flaw of flaws) {
    const said = Object.entries(flaw).map(([field, value]) => `${field}: ${formatted(value)}`);
    const answer = await Promise.resolve()
      .then(() => send({ ...valid, ...flaw }))
      .then(
        (reply) => `${method} with ${said} resolved with ${JSON.stringify(reply)}`,
        () => "rejected",
      );
    expect(answer).toBe("rejected");
  }
}

function formatted(value: unknown): string {
  return typeof value === "string" ? `"${value}"` : Array.isArray(value) ? JSON.stringify(value) : String(value);
}

/**
 * The facts about requests that the contract does not allow. Core does not send them. A node that receives one must not
 * guess: a missing ttl, for example, would mean an endless claim in one store and no claim in another.
 */
export const malformedFacts: readonly Fact[] = facts({
  "acquire() rejects a malformed request, and changes nothing": async ({ bare: { node, rival }, timeoutMs }) => {
    const request: AcquireRequest = {
      resources: ["r"],
      owner: "alice",
      ttlMs: longMs,
      fenceHint: 1_000,
      timeoutMs,
    };
    const flaws = [...anyRequest, ...ttls, ...hints, ...takeovers, ...shares, ...epochs, ...waiters];
    await expectRejections("acquire()", (flawed) => node.node.acquire(flawed), request, flaws);
    expect(await nextFence(rival, "r")).toBe(1);
  },

  "extend() rejects a malformed request, and changes nothing": async (world) => {
    const { node, rival } = world.bare;
    await node.grant("alice", "r");
    const request: ExtendRequest = {
      resources: ["r"],
      owner: "alice",
      ttlMs: longMs,
      fence: 1_000,
      rejoin: true,
      timeoutMs: world.timeoutMs,
    };
    const flaws = [...anyRequest, ...ttls, ...fences, ...rejoins, ...shares];
    await expectRejections("extend()", (flawed) => node.node.extend(flawed), request, flaws);
    await world.pass(momentMs);
    await rival.deny("bob", "r");
    expect(await rival.hold("alice", "r")).toBe(1);
  },

  "release() rejects a malformed request, and changes nothing": async ({ bare: { node, rival }, timeoutMs }) => {
    await node.grant("alice", "r");
    const request: ReleaseRequest = { resources: ["r"], owner: "alice", timeoutMs };
    const flaws = [...anyRequest, ...waiters, ...undos];
    await expectRejections("release()", (flawed) => node.node.release(flawed), request, flaws);
    expect(await rival.hold("alice", "r")).toBe(1);
  },
});
