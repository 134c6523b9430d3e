import { HoldfastError, type Lock, Redlock } from "@holdfast/core";
import { memoryNode } from "@holdfast/memory";
import {
  corrupting,
  endingAfter,
  fuzzSeed,
  isNightly,
  startRedisServer,
  startTamperingProxy,
  type Tampering,
} from "@holdfast/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClientUnderTest, comeBack, type MakeClient } from "./adapter-tools.ts";

type Server = Awaited<ReturnType<typeof startRedisServer>>;
type Tamper = (data: Buffer) => Tampering;

/** A client, with control over its connection. */
type Tampered = ClientUnderTest & { tamper(how: Tamper | undefined): void };

/** Replacements for replies: RESP of all kinds, mostly unexpected, and invalid RESP. */
const anyReply = anyResp();

/**
 * Registers the tests that no reply, and no missing reply, leads to a false lock, a call that hangs, or an unhandled
 * rejection (which fails any test run).
 */
export function describeTampering(client: string, makeClient: MakeClient): void {
  describe(`${client} behind a network that tampers with replies`, { timeout: 120_000 }, () => {
    let server: Server;
    let length = 0;
    beforeAll(async () => {
      server = await startRedisServer();
      await withConnection(async ({ node, tamper }) => {
        const count: Tamper = (data) => {
          length += data.length;
          return { data };
        };
        tamper(count);
        await converse(new Redlock([node], { waitTimeoutMs: 0, nodeTimeoutMs: 5_000 }), server);
      });
    });
    afterAll(() => server.stop());

    // Nightly, in both ways after each byte.
    test.each([["reset", 0] as const, ["end", 1] as const])(
      "a connection that ends after any byte (%s) causes no false lock",
      async (how, first) => {
        expect(length).toBeGreaterThan(100);
        const bytes = isNightly ? range(0, length, 1) : range(first, length, 2);
        await atOnce(() =>
          withConnection(async (connection) => {
            for (let byte = bytes.shift(); byte !== undefined; byte = bytes.shift()) {
              await tampered(connection, endingAfter(byte, how), `ends after byte ${byte}`);
              await comeBack(connection);
            }
          }),
        );
      },
    );

    test("a wrong byte anywhere in a reply does not prevent a lock on the healthy nodes", async () => {
      const bytes = range(0, length, 7);
      await atOnce(async () => {
        for (let byte = bytes.shift(); byte !== undefined; byte = bytes.shift()) {
          const tamper = makingNoPush(corrupting(byte, 1 << (byte % 8)));
          const what = `corrupts byte ${byte}`;
          await withConnection((connection) => tampered(connection, tamper, what));
        }
      });
    });

    test("any other reply instead of the right one grants no lock", async () => {
      const replies = fc.sample(anyReply, { numRuns: 60, seed: fuzzSeed });
      await atOnce(async () => {
        for (let reply = replies.shift(); reply !== undefined; reply = replies.shift()) {
          const data = reply;
          await withConnection(async ({ node, tamper }) => {
            tamper(() => ({ data }));
            const lock = await settled(redlockOver(node).acquire("r"), `answers ${JSON.stringify(String(data))}`);
            expect(lock).toBeUndefined();
            await converseBesideHealthyNodes(node, "r");
          });
        }
      });
    });

    /** Uses the tampered connection alone, and then together with two healthy nodes. */
    async function tampered({ node, tamper }: Tampered, how: Tamper, what: string): Promise<void> {
      tamper(how);
      await converse(redlockOver(node), server).catch((cause) => Promise.reject(new Error(what, { cause })));
      await converseBesideHealthyNodes(node, what);
      tamper(undefined);
    }

    async function withConnection(use: (connection: Tampered) => Promise<void>): Promise<void> {
      const proxy = await startTamperingProxy(server.port);
      const connection = makeClient(proxy.port);
      const tamper = (how: Tamper | undefined): void => {
        proxy.tamper = how;
      };
      try {
        await comeBack(connection);
        await use({ ...connection, tamper });
      } finally {
        await connection.node.close();
        connection.close();
        await proxy.stop();
      }
    }
  });
}

/** Avoids RESP pushes without a kind: they crash any process that uses ioredis 6, whatever the adapter does. */
function makingNoPush(tamper: Tamper): Tamper {
  return (data) => {
    const told = tamper(data);
    return told.data.includes(">") && !data.includes(">") ? { data } : told;
  };
}

function redlockOver(node: ClientUnderTest["node"]): Redlock {
  return new Redlock([node], { waitTimeoutMs: 0, ttlMs: 300 });
}

let conversations = 0;

/** Makes all calls to a node. If it grants the lock, the server must have the claim. */
async function converse(redlock: Redlock, server: Server): Promise<void> {
  conversations += 1;
  const resource = `conversation:${conversations}`;
  const lock = await settled(redlock.acquire(resource), "acquire");
  if (lock) {
    const holder = await server.command("GET", `lock:${resource}`);
    if (lock.remainingMs() > 0) expect(holder).toBe(lock.owner);
    await settled(lock.extend(), "extend");
  }
  await settled(redlock.inspect(resource), "inspect");
  if (lock) await settled(lock.release(), "release");
}

/** Locks over two healthy nodes and the tampered one, which can neither prevent the lock nor duplicate it. */
async function converseBesideHealthyNodes(node: ClientUnderTest["node"], what: string): Promise<void> {
  const healthy = [memoryNode(), memoryNode()];
  const lock = await settled(new Redlock([node, ...healthy], { waitTimeoutMs: 0 }).acquire("r"), what);
  for (const one of healthy) expect((await one.inspect("r")).owner).toBe((lock as Lock | undefined)?.owner);
  const rival = new Redlock([node, ...healthy], { waitTimeoutMs: 0 });
  expect(await settled(rival.acquire("r"), what)).toBeUndefined();
  await settled(lock?.extend() ?? Promise.resolve(), what);
  await settled(lock?.release() ?? Promise.resolve(), what);
}

/** Returns the value of a promise, or undefined for a `HoldfastError`. Throws if the promise does not settle in time. */
async function settled<T>(promise: Promise<T>, what: string): Promise<T | undefined> {
  let deadline: NodeJS.Timeout | undefined;
  const hangs = new Promise<never>((_, reject) => {
    deadline = setTimeout(() => reject(new Error(`${what}: it hangs`)), 10_000);
  });
  try {
    return await Promise.race([promise, hangs]);
  } catch (error) {
    if (error instanceof HoldfastError) return undefined;
    throw error;
  } finally {
    clearTimeout(deadline);
  }
}

/** Runs eight workers concurrently, as most of the work is waiting. */
async function atOnce(work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: 8 }, work));
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
      fc.constantFrom(
        "-NOSCRIPT none\r\n",
        "-MOVED 1 127.0.0.1:1\r\n",
        "-LOADING soon\r\n",
        "_\r\n",
        "#t\r\n",
        ",nan\r\n",
      ),
      fc.integer().map((number) => `:${number}\r\n`),
      line.map((text) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`),
      fc.constantFrom("$-1\r\n", "*-1\r\n", "*0\r\n"),
      fc.array(tie("value"), { maxLength: 4 }).map((values) => `*${values.length}\r\n${values.join("")}`),
      // A push with a kind: see makingNoPush().
      fc
        .array(tie("value"), { maxLength: 3 })
        .map((values) => `>${values.length + 1}\r\n+message\r\n${values.join("")}`),
    ),
  }));
  const garbage = fc.uint8Array({ minLength: 1, maxLength: 30 }).map((bytes) => Buffer.from(bytes));
  return fc.oneof({ weight: 4, arbitrary: value.map((text) => Buffer.from(text)) }, { weight: 1, arbitrary: garbage });
}
