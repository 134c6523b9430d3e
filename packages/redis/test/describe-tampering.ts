import { HoldfastError, type Lock, Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import { corrupting, endingAfter, startRedisServer, startTamperingProxy, type Tampering } from "@holdfast/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClientUnderTest, comeBack, type MakeClient } from "./adapter-tools.ts";
import { eventually } from "./requests.ts";

type Server = Awaited<ReturnType<typeof startRedisServer>>;
type Tamper = (data: Buffer) => Tampering;

/** How many connections are tampered with at the same time. */
const atOnce = 8;

/** What any reply may be replaced by: RESP of all kinds, most of it unasked for, and what is none. */
const anyReply = anyResp();

/**
 * Whatever a server says, or leaves unsaid, there is no lock that is not one, nothing hangs, and nothing is rejected
 * without anybody to hear it (which fails any test run).
 */
export function describeTampering(client: string, makeClient: MakeClient): void {
  describe(`${client} behind a network that tampers with replies`, { timeout: 120_000 }, () => {
    let server: Server;
    let length = 0;
    beforeAll(async () => {
      server = await startRedisServer();
      await withConnection(async (node, arm) => {
        const count: Tamper = (data) => {
          length += data.length;
          return { data };
        };
        arm(count);
        await converse(redlockOver(node), server);
      });
    });
    afterAll(() => server.stop());

    test.each(["reset", "end"] as const)("a connection that ends after any byte (%s) makes no false lock", async (how) => {
      expect(length).toBeGreaterThan(100);
      await all(range(0, length, 1), (byte) => tampered(endingAfter(byte, how), `ends after byte ${byte}`));
    });

    test("a reply with any one wrong byte keeps no healthy nodes from their lock", async () => {
      await all(range(0, length, 5), (byte) => tampered(corrupting(byte, 1 << (byte % 8)), `corrupts byte ${byte}`));
    });

    test("any other reply in the place of the right one is no lock", async () => {
      const replies = fc.sample(anyReply, { numRuns: 80, seed: 42 });
      await all(replies, (reply) =>
        withConnection(async (node, arm) => {
          arm(() => ({ data: reply }));
          const lock = await settled(redlockOver(node).acquire("r"), `answers ${JSON.stringify(String(reply))}`);
          expect(lock).toBeUndefined();
          await converseBesideHealthyNodes(node, "r");
        }),
      );
    });

    /** Has a conversation over one tampered connection alone, and another one beside two healthy nodes. */
    async function tampered(tamper: Tamper, what: string): Promise<void> {
      await withConnection(async (node, arm) => {
        arm(tamper);
        await converse(redlockOver(node), server).catch((cause) => Promise.reject(new Error(what, { cause })));
        await converseBesideHealthyNodes(node, what);
      });
    }

    async function withConnection(use: (node: ClientUnderTest["node"], arm: (tamper: Tamper) => void) => Promise<void>) {
      const proxy = await startTamperingProxy(server.port);
      const connection = makeClient(proxy.port);
      try {
        await comeBack(connection);
        await use(connection.node, (tamper) => {
          proxy.tamper = tamper;
        });
      } finally {
        await connection.node.close();
        connection.close();
        await proxy.stop();
      }
    }
  });
}

function redlockOver(node: ClientUnderTest["node"]): Redlock {
  return new Redlock([node], { waitTimeoutMs: 0, ttlMs: 2_000 });
}

let conversations = 0;

/** All that a client says to a node. A lock that it gets must be one on the server. */
async function converse(redlock: Redlock, server: Server): Promise<void> {
  conversations += 1;
  const resource = `conversation:${conversations}`;
  const lock = await settled(redlock.acquire(resource), "acquire");
  if (lock) {
    const key = `lock:${resource}`;
    expect(await server.command("GET", key)).toBe(lock.owner);
    await settled(lock.extend(), "extend");
  }
  await settled(redlock.inspect(resource), "inspect");
  if (lock) await settled(lock.release(), "release");
}

/** Two healthy nodes are a quorum: the third can neither keep them from a lock, nor make two of one. */
async function converseBesideHealthyNodes(node: ClientUnderTest["node"], what: string): Promise<void> {
  const healthy = [memoryNode(), memoryNode()];
  const lock = await settled(new Redlock([node, ...healthy], { waitTimeoutMs: 0 }).acquire("r"), what);
  for (const one of healthy) expect((await one.inspect("r")).owner).toBe((lock as Lock | undefined)?.owner);
  const rival = new Redlock([node, ...healthy], { waitTimeoutMs: 0 });
  expect(await settled(rival.acquire("r"), what)).toBeUndefined();
  await settled(lock?.extend() ?? Promise.resolve(), what);
  await settled(lock?.release() ?? Promise.resolve(), what);
}

/** What the promise resolves with; undefined where it rejects with an error of ours; fails if it does neither. */
async function settled<T>(promise: Promise<T>, what: string): Promise<T | undefined> {
  let outcome: { value: T | undefined } | { error: unknown } | undefined;
  promise.then(
    (value) => {
      outcome = { value };
    },
    (error: unknown) => {
      outcome = { error };
    },
  );
  await eventually(() => expect(outcome, what).toBeDefined());
  if (outcome && "error" in outcome) expect(outcome.error).toBeInstanceOf(HoldfastError);
  return outcome && "value" in outcome ? outcome.value : undefined;
}

async function all<T>(cases: readonly T[], check: (one: T) => Promise<void>): Promise<void> {
  const waiting = [...cases];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await check(next);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

function range(from: number, to: number, step: number): number[] {
  return Array.from({ length: Math.ceil((to - from) / step) }, (_, index) => from + index * step);
}

function anyResp(): fc.Arbitrary<Buffer> {
  const line = fc.string({ maxLength: 12 }).map((text) => text.replaceAll(/[\r\n]/g, ""));
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      line.map((text) => `+${text}\r\n`),
      line.map((text) => `-ERR ${text}\r\n`),
      fc.constantFrom("-NOSCRIPT none\r\n", "-MOVED 1 127.0.0.1:1\r\n", "-LOADING soon\r\n", "_\r\n", "#t\r\n", ",nan\r\n"),
      fc.integer().map((number) => `:${number}\r\n`),
      line.map((text) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`),
      fc.constantFrom("$-1\r\n", "*-1\r\n", "*0\r\n"),
      fc.array(tie("value"), { maxLength: 4 }).map((values) => `*${values.length}\r\n${values.join("")}`),
      fc.array(tie("value"), { maxLength: 3 }).map((values) => `>${values.length}\r\n${values.join("")}`),
    ),
  }));
  const garbage = fc.uint8Array({ minLength: 1, maxLength: 30 }).map((bytes) => Buffer.from(bytes));
  return fc.oneof({ weight: 4, arbitrary: value.map((text) => Buffer.from(text)) }, { weight: 1, arbitrary: garbage });
}
