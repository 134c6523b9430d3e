import { type AcquireRequest, ServerCheck, type ServerVotes } from "@holdfast/core/node";
import { fuzzSeed } from "@holdfast/testkit";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

fc.configureGlobal({ seed: fuzzSeed });

const request = (servers?: ServerVotes): AcquireRequest => {
  return { resources: ["r"], owner: "o", ttlMs: 1_000, fenceHint: 1, timeoutMs: 50, servers };
};

/** A step that takes some turns of the event loop. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
}

describe("ServerCheck.vote()", () => {
  it("ServerCheck lets each server vote once in an attempt, whatever claims fail beside it", async () => {
    const delays = fc.infiniteStream(fc.nat({ max: 9 }));
    const attempts = fc.array(
      fc.record({ fails: fc.array(fc.boolean(), { minLength: 3 }), pause: fc.nat({ max: 20 }) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat({ max: 2 }), { minLength: 2, maxLength: 3 }),
        attempts,
        delays,
        async (places, all, delay) => {
          const next = () => delay.next().value as number;
          const servers: ServerVotes = new Map();
          const checks = places.map((place, index) => {
            return new ServerCheck(`n${index}`, async () => {
              await turns(next());
              return { id: `server ${place}`, isReplica: false };
            });
          });
          const settled: Promise<void>[] = [];
          const votes: string[] = [];
          for (const [attempt, { fails, pause }] of all.entries()) {
            for (const [index, check] of checks.entries()) {
              const send = async () => {
                await turns(next());
                if (fails[index]) throw new Error("no connection");
              };
              const vote = () => void votes.push(`${attempt}: server ${places[index]}`);
              settled.push(check.vote(request(servers), send).then(vote, () => {}));
            }
            await turns(pause);
          }
          await Promise.all(settled);
          expect(new Set(votes).size).toBe(votes.length);
        },
      ),
    );
  });

  it("ServerCheck refuses a claim that began before another node left the server, also after a later one has voted", async () => {
    const servers: ServerVotes = new Map();
    let place = "one";
    const a = new ServerCheck("a", async () => ({ id: place, isReplica: false }));
    let answer = (): void => {};
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const b = new ServerCheck("b", async () => {
      await asked;
      return { id: "one", isReplica: false };
    });
    const send = async () => "granted";
    await a.vote(request(servers), send);
    const early = b.vote(request(servers), send);
    place = "two";
    await expect(a.vote(request(servers), () => Promise.reject(new Error("lost")))).rejects.toThrow("lost");
    await a.vote(request(servers), send);
    while (performance.now() === servers.get("one")?.leftAtMs) await turns(1);
    const late = b.vote(request(servers), send);
    answer();
    await expect(early).rejects.toThrow("it is the server that a has just left (one)");
    expect(await late).toBe("granted");
    expect(servers.get("one")).toMatchObject({ node: "b", before: { node: "a" } });
  });

  it("ServerCheck asks once for many claims, again after one that failed, and not for a node alone", async () => {
    const servers: ServerVotes = new Map();
    let asked = 0;
    const check = new ServerCheck("a", async () => ({ id: `run ${++asked}`, isReplica: false }));
    await check.vote(request(), async () => {});
    expect(asked).toBe(0);
    await Promise.all([1, 2, 3].map(() => check.vote(request(servers), async () => {})));
    expect(asked).toBe(1);
    await check.vote(request(servers), () => Promise.reject(new Error("lost"))).catch(() => {});
    await check.vote(request(servers), async () => {});
    expect(asked).toBe(2);
  });

  it("ServerCheck sends no claim to a server that does not tell its identity, and asks again", async () => {
    let reply: () => Promise<{ id: string | undefined; isReplica: boolean }> = () => Promise.reject(new Error("hangs"));
    const check = new ServerCheck("a", () => reply());
    const sent: string[] = [];
    const vote = () => check.vote(request(new Map()), async () => void sent.push("claim"));
    await expect(vote()).rejects.toThrow("could not identify the server: hangs");
    expect(sent).toEqual([]);
    reply = async () => ({ id: undefined, isReplica: false });
    await vote();
    reply = async () => ({ id: "one", isReplica: true });
    await check.vote(request(new Map()), () => Promise.reject(new Error("lost"))).catch(() => {});
    await expect(vote()).rejects.toThrow("the server is a replica");
    expect(sent).toEqual(["claim"]);
  });
});
