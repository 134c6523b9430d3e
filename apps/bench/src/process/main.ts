/** A measured process. All arguments and results of its functions are plain data. */
import type { Address } from "@holdfast/app-kit/clients";
import { serveParent } from "@holdfast/app-kit/worker";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { Client, Release } from "../contenders/contender.ts";
import { contenderNamed } from "../contenders/index.ts";
import { type ContendRequest, contend } from "./contend.ts";
import { count } from "./count.ts";
import { cycle } from "./cycle.ts";
import { first } from "./first.ts";

// Some libraries reject promises without a handler. That must not end a measurement.
process.on("unhandledRejection", () => {});

interface OpenRequest {
  readonly contender: string;
  /** See {@link Connect}. */
  readonly addresses: readonly Address[];
  /** See {@link Settings.isPatient}. */
  readonly isPatient: boolean;
  /** The number of the client in the process. Default: 0. */
  readonly client?: number;
}

const clients: Client[] = [];
let held: Release | undefined;

const calls = {
  /** Loads a contender and connects it. */
  async open({ contender, addresses, isPatient, client = 0 }: OpenRequest): Promise<void> {
    const { load, settings } = contenderNamed(contender);
    const connect = await load();
    clients[client] = await connect(addresses, { ...settings, isPatient });
  },
  cycle: (request: Parameters<typeof cycle>[1]) => cycle(openClient(), request),
  first: (request: Parameters<typeof first>[1]) => first(openClient(), request),
  contend: (request: ContendRequest) => contend(openClient(request.client), request),
  count: (request: Parameters<typeof count>[1]) => count(openClient(), request),
  /** Acquires one lock. Resolves with the time, on the clock that all processes share. */
  async acquireOne(key: string): Promise<number> {
    held = await openClient().acquire(key);
    return monotonicMs();
  },
  /** Releases that lock. Resolves with the time at which the release began. */
  async releaseOne(): Promise<number> {
    const startMs = monotonicMs();
    await held?.();
    return startMs;
  },
};

/** The functions that a measured process serves. */
export type Calls = typeof calls;

serveParent(calls);

function openClient(number = 0): Client {
  const client = clients[number];
  if (client === undefined) throw new Error("no client is open");
  return client;
}
