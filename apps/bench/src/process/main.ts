/** A process that is measured: does what its parent asks for, one call after another. */

import type { Client, Release } from "../contenders/contender.ts";
import { contenderNamed } from "../contenders/index.ts";
import type { Answer, Call, Calls } from "./calls.ts";
import { contend } from "./contend.ts";
import { count } from "./count.ts";
import { cycle } from "./cycle.ts";
import { hold } from "./hold.ts";

// Some libraries reject promises that nobody has. That must not end a measurement.
process.on("unhandledRejection", () => {});
process.on("disconnect", () => process.exit());

let client: Client | undefined;
let held: Release | undefined;

const calls: Calls = {
  async open({ contender, ports, isPatient }) {
    const { load, settings } = contenderNamed(contender);
    const { connect } = await load();
    client = await connect(ports, { ...settings, isPatient });
  },
  async close() {
    await client?.close();
    client = undefined;
  },
  cycle: (request) => cycle(opened(), request),
  contend: (request) => contend(opened(), request),
  hold: (request) => hold(opened(), request),
  count: (request) => count(opened(), request),
  async acquireOne({ key, ttlMs }) {
    held = await opened().acquire([key], ttlMs);
    return nowMs();
  },
  async releaseOne() {
    const releasedAtMs = nowMs();
    await held?.();
    return releasedAtMs;
  },
};

process.on("message", ({ id, name, request }: Call) => {
  const call = calls[name] as (request: unknown) => Promise<unknown>;
  call(request).then(
    (result) => answer({ id, result }),
    (error) => answer({ id, error: String(error?.message ?? error) }),
  );
});

function answer(message: Answer): void {
  process.send?.(message);
}

function opened(): Client {
  if (client === undefined) throw new Error("nothing is open");
  return client;
}

/** Milliseconds on the monotonic clock, whose origin is the same for all processes. */
function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
