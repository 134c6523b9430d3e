import { setTimeout as sleep } from "node:timers/promises";
import { Redlock } from "@holdfast/core";
import { openClients, openNodes } from "./nodes.ts";
import { acquireAsOthersDo } from "./other-library.ts";
import type { Figures, Party, ProcessPlan, ServerAddress } from "./plan.ts";

const holdMs = 5;

/** Acquires a lock. Resolves with a function that releases it. */
type Acquire = (resources: readonly string[]) => Promise<() => Promise<unknown>>;

/** Connects all parties. Resolves with a function that lets them contend for that time. */
export async function prepareContention(
  plans: readonly ProcessPlan[],
  servers: readonly ServerAddress[],
  ms: number,
): Promise<() => Promise<Figures>> {
  const parties: { readonly party: Party; readonly acquire: Acquire }[] = [];
  for (const plan of plans) {
    const acquire = await connect(plan, servers);
    for (const party of plan.parties) parties.push({ party, acquire });
  }
  return async () => {
    const endMs = performance.now() + ms;
    const results = await Promise.all(parties.map(({ party, acquire }) => contend(party, acquire, endMs)));
    return Object.assign({}, ...results);
  };
}

async function connect({ client }: ProcessPlan, servers: readonly ServerAddress[]): Promise<Acquire> {
  if (client === "other") {
    const clients = await openClients(servers);
    return ([resource]) => acquireAsOthersDo(clients, resource as string);
  }
  const redlock = new Redlock(await openNodes(servers, client === "listening"), { waitTimeoutMs: Infinity });
  return async (resources) => {
    const lock = await redlock.acquire(resources);
    return () => lock.release();
  };
}

/** Counts locks, and measures the longest wait, whether it has ended or not. */
async function contend({ name, workers, resources }: Party, acquire: Acquire, endMs: number): Promise<Figures> {
  const waitingSince = new Map<number, number>();
  let [locks, longestMs] = [0, 0];
  const work = async (worker: number): Promise<void> => {
    while (performance.now() < endMs) {
      const sinceMs = performance.now();
      waitingSince.set(worker, sinceMs);
      const release = await acquire(resources);
      waitingSince.delete(worker);
      longestMs = Math.max(longestMs, performance.now() - sinceMs);
      locks += 1;
      await sleep(holdMs);
      await release();
    }
  };
  const failed = new Promise<never>((_, reject) => {
    for (let worker = 0; worker < workers; worker++) work(worker).catch(reject);
  });
  await Promise.race([sleep(endMs - performance.now()), failed]); // workers that still wait are not awaited
  for (const sinceMs of waitingSince.values()) longestMs = Math.max(longestMs, performance.now() - sinceMs);
  return { [`${name} locks`]: locks, [`${name} longest`]: longestMs };
}
