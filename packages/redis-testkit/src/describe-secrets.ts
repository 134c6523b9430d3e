import { inspect } from "node:util";
import type { FencedStore, RedisNode } from "@holdfast/redis";
import { describe, expect, test } from "vitest";

const secret = "s3cr3t-pa55word";

/** Values containing a secret that a user might pass by mistake. */
const carriers: readonly unknown[] = [
  `redis://app:${secret}@10.0.0.1:6379`,
  new URL(`redis://app:${secret}@10.0.0.1:6379`),
  { password: secret },
  { [secret]: 1 },
  [secret],
  Object.assign(() => {}, { password: secret }),
  Symbol(secret),
];

/** The functions of an adapter, and a client that is not connected. */
export interface Makers<Client> {
  readonly client: Client;
  node(client: Client, options?: object): RedisNode;
  store(client: Client, options?: object): FencedStore;
}

/** Registers the test that errors of an adapter show no argument, except names of nodes and keys. */
export function describeSecrets<Client>(name: string, { client, node, store }: Makers<Client>): void {
  const options = [
    "name",
    "prefix",
    "fenceTtlMs",
    "wakeUps",
    "restartGuardMs",
    "verifyServer",
    "timeoutMs",
    "subscriber",
  ];
  const request = { resources: ["r"], owner: "o", timeoutMs: 10, ttlMs: 100, fenceHint: 1, fence: 1, rejoin: false };

  describe(name, () => {
    test.each(carriers)("shows no secret that was passed as %o", async (carrier) => {
      const value = carrier as never;
      const named = (option: string): never => ({ [option]: value }) as never;
      const notSent = { ...request };
      const calls: (() => unknown)[] = [
        () => node(value),
        () => store(value),
        () => node(client, value),
        () => store(client, value),
        ...options.flatMap((option) => [() => node(client, named(option)), () => store(client, named(option))]),
        () => store(client).write("k", value, 1),
        () => store(client).write("k", "v", value),
        () => store(client).write("k", "v", 1, value),
        () => store(client).write("k", "v", 1, named("ttlMs")),
        () => store(client).read("k", value),
        ...Object.keys(request).flatMap((field) => [
          () => node(client).acquire(Object.assign({ ...notSent }, named(field))),
          () => node(client).extend(Object.assign({ ...notSent }, named(field))),
        ]),
      ];
      let errors = 0;
      for (const call of calls) {
        try {
          await call();
        } catch (error) {
          errors += 1;
          expect(inspect(error, { depth: 10 })).not.toContain(secret);
        }
      }
      expect(errors).toBeGreaterThan(20);
    });
  });
}
