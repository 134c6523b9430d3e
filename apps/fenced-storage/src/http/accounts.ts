import { StaleFenceError } from "@holdfast/redis";
import type { Cleanup } from "@holdfast/testkit/cleanup";
import type { Accounts } from "../accounts.ts";
import { startFencedService } from "./fenced-service.ts";

const timeoutMs = 5_000;

/** Starts a service. */
export async function start(cleanup: Cleanup): Promise<string> {
  const service = await startFencedService("optional");
  cleanup.defer(service.close);
  return service.url;
}

/** Opens accounts in an HTTP service. */
export async function open(url: string): Promise<Accounts> {
  const write: Accounts["write"] = (id, balance, fence) => writeText(`${url}/accounts/${id}`, String(balance), fence);
  return {
    create: write,
    read: async (id, fence) => Number(await readText(`${url}/accounts/${id}`, fence)),
    write,
    async close() {},
  };
}

/** Reads a text. From then on, the URL refuses older tokens. */
export async function readText(url: string, fence: number | undefined): Promise<string> {
  return (await send("read", url, fence, {})).text();
}

/** Writes a text, unless the URL was shown a newer token. */
export async function writeText(url: string, text: string, fence: number | undefined): Promise<void> {
  await send("write", url, fence, { method: "PUT", body: text });
}

async function send(action: "read" | "write", url: string, fence: number | undefined, init: RequestInit) {
  const headers: Record<string, string> = fence === undefined ? {} : { fence: String(fence) };
  const response = await fetch(url, { ...init, headers, signal: AbortSignal.timeout(timeoutMs) });
  if (response.ok) return response;
  const { detail, newestFence } = (await response.json()) as { detail: string; newestFence: number };
  if (response.status === 409 && fence !== undefined) throw new StaleFenceError(action, url, fence, newestFence);
  throw new Error(`could not ${action} ${url}: ${response.status}, ${detail}`);
}
