import type { Client } from "../contenders/contender.ts";
import { type FirstOutcome, type FirstRequest, ttlMs } from "./calls.ts";

/** Acquires and releases one key after another. */
export async function first(client: Client, { keyPrefix, pairs }: FirstRequest): Promise<FirstOutcome> {
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  for (let pair = 0; pair < pairs; pair++) {
    const release = await client.acquire(`${keyPrefix}:${pair}`, ttlMs);
    await release();
  }
  const tookMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  return { tookMs, cpuUs: user + system };
}
