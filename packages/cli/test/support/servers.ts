import { type RedisServer, startRedisServer } from "@holdfast/testkit";
import { afterAll, beforeAll, expect } from "vitest";

/** Lock servers that all tests of a file share. */
export interface Servers {
  readonly all: readonly RedisServer[];
  /** The environment that names the servers for `holdfast`. */
  readonly env: Readonly<Record<string, string>>;
  /** Returns the owner of a resource on each server; null if it is free there. */
  owners(resource: string): Promise<readonly (string | null)[]>;
  /** Resolves when the resource is free on all servers. */
  free(resource: string): Promise<void>;
}

/** Starts servers before the tests of this file, and stops them afterwards. */
export function withServers(count: number): Servers {
  const all: RedisServer[] = [];
  beforeAll(async () => {
    all.push(...(await Promise.all(Array.from({ length: count }, () => startRedisServer()))));
  });
  afterAll(async () => {
    await Promise.all(all.map((server) => server.stop()));
  });
  const owners = async (resource: string): Promise<(string | null)[]> => {
    const answers = await Promise.all(all.map((server) => server.command("GET", `lock:${resource}`)));
    return answers.map((answer) => (answer === null ? null : String(answer)));
  };
  return {
    all,
    get env() {
      return { HOLDFAST_NODES: all.map(({ url }) => url).join(" ") };
    },
    owners,
    async free(resource) {
      await expect.poll(() => owners(resource)).toEqual(all.map(() => null));
    },
  };
}
