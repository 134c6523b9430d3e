import { inspect } from "node:util";
import { type Lock, type Observer, Redlock, type RedlockOptions } from "@holdfast/core";
import { assertAcquire, assertExtend, assertOptions, assertRelease } from "@holdfast/core/node";
import { memoryNode } from "@holdfast/memory";
import { fuzzSeed } from "@holdfast/testkit";
import fc from "fast-check";
import { expect, it } from "vitest";

fc.configureGlobal({ seed: fuzzSeed });

const secret = "s3cr3t-pa55word";

/** Values that contain a secret and might be passed by mistake. */
const carriers = fc.constantFrom<unknown>(
  `redis://app:${secret}@10.0.0.1:6379`,
  new URL(`redis://app:${secret}@10.0.0.1:6379`),
  { password: secret },
  [secret],
  Object.assign(() => {}, { password: secret }),
  Symbol(secret),
  new Error(secret),
  Buffer.from(secret),
  new (class Client {
    options = { password: secret };
    evalsha() {}
  })(),
  { [secret]: 1 },
);

const serverOptionNames = ["nodeTimeoutMs", "driftFactor", "quorum", "retryDelayMs", "retryDelayMaxMs"] as const;
const optionNames: (keyof RedlockOptions)[] = [
  ...serverOptionNames,
  "ttlMs",
  "waitTimeoutMs",
  "signal",
  "autoExtend",
  "maxHoldMs",
  "awaitRelease",
];
const request = { resources: ["r"], owner: "o", timeoutMs: 10, ttlMs: 100, fenceHint: 1, fence: 1, rejoin: false };

/** All public calls, each with the value as one argument. Errors may show resources, labels and node names. */
function callsWith(value: never, observer: Observer): (() => unknown)[] {
  const nodes = [memoryNode(), memoryNode(), memoryNode()];
  const redlock = new Redlock(nodes, { observer });
  const named = (name: string): object => ({ [name]: value });
  return [
    () => new Redlock(value),
    () => new Redlock([value]),
    () => new Redlock(nodes, value),
    ...[...optionNames, "observer", "clock", "maxWaiters", "ttl"].map((name) => () => new Redlock(nodes, named(name))),
    () => new Redlock(nodes, { observer: { lost: value } }),
    () => new Redlock(nodes, { label: `\n${String(inspect(value))}` }),
    () => memoryNode(value),
    ...["clock", "fenceTtlMs", "fenceTTL"].map((name) => () => memoryNode(named(name))),
    () => redlock.acquire([value]),
    () => redlock.acquire("r", value),
    ...[...optionNames, "ttl"].flatMap((name) => [
      () => redlock.acquire("r", named(name)),
      () => redlock.using("r", named(name), () => {}),
      () => redlock.tryAcquire("r", named(name)),
    ]),
    () => redlock.using("r", value),
    () => redlock.using("r", {}, value),
    () => redlock.inspect([value] as never),
    () => redlock.using("r", (lock) => lock.extend(value)),
    () => redlock.using("r", (lock) => lock.extend({ ttlMs: value })),
    () => assertOptions(value, ["prefix"], "x"),
    ...Object.keys(request).flatMap((name) => [
      () => assertAcquire({ ...request, ...named(name) }),
      () => assertExtend({ ...request, ...named(name) }),
      () => assertRelease({ ...request, ...named(name) }),
    ]),
  ];
}

it("no error and no event reveals a secret that was passed as an argument", async () => {
  await fc.assert(
    fc.asyncProperty(carriers, async (carrier) => {
      const shown: unknown[] = [];
      const observer: Observer = {
        acquireFailed: ({ error }) => void shown.push(error),
        nodeFailed: (event) => void shown.push(event),
      };
      for (const call of callsWith(carrier as never, observer)) {
        try {
          const result = await call();
          await (result as Partial<Lock> | undefined)?.release?.();
        } catch (error) {
          shown.push(error, (error as Error).message, (error as Error).stack);
        }
      }
      expect(shown.length).toBeGreaterThan(50);
      for (const value of shown) expect(inspect(value, { depth: 10 })).not.toContain(secret);
    }),
    { numRuns: 30 },
  );
}, 60_000);
