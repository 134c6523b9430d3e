/** A measured process. */
import { serveParent } from "@holdfast/app-kit/worker";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { Client, Release } from "../contenders/contender.ts";
import { contenderNamed } from "../contenders/index.ts";
import type { Calls } from "./calls.ts";
import { contend } from "./contend.ts";
import { count } from "./count.ts";
import { cycle } from "./cycle.ts";
import { first } from "./first.ts";

// Some libraries reject promises without a handler. That must not end a measurement.
process.on("unhandledRejection", () => {});

const clients: Client[] = [];
let held: Release | undefined;

const calls: Calls = {
  async open({ contender, addresses, isPatient, client = 0 }) {
    const { load, settings } = contenderNamed(contender);
    const connect = await load();
    clients[client] = await connect(addresses, { ...settings, isPatient });
  },
  cycle: (request) => cycle(openClient(), request),
  first: (request) => first(openClient(), request),
  contend: (request) => contend(openClient(request.client), request),
  count: (request) => count(openClient(), request),
  wait: async (order, servers) => (await import("./waiting/measure.ts")).measureWaiting(order, servers),
  async acquireOne({ key, ttlMs }) {
    held = await openClient().acquire(key, ttlMs);
    return monotonicMs();
  },
  async releaseOne() {
    const startMs = monotonicMs();
    await held?.();
    return startMs;
  },
};

serveParent(calls);

function openClient(number = 0): Client {
  const client = clients[number];
  if (client === undefined) throw new Error("no client is open");
  return client;
}
