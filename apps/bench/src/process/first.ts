import type { Client } from "../contenders/contender.ts";

/** Acquires and releases that many keys, one after another. */
export async function first(client: Client, { keyPrefix, pairs }: { keyPrefix: string; pairs: number }) {
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  for (let pair = 0; pair < pairs; pair++) {
    const release = await client.acquire(`${keyPrefix}:${pair}`);
    await release();
  }
  const tookMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  return { tookMs, cpuUs: user + system };
}
