/**
 * A process that plays the network: it forwards all bytes a while later.
 *
 * The timers of Node.js are a millisecond too coarse for round trips of half a millisecond. While bytes are in flight, the
 * process therefore spends the last milliseconds in short naps, and looks at the clock without a pause at the end, because a
 * nap ends late, and bytes that arrive meanwhile are seen late.
 */
import { serveParent } from "@holdfast/app-kit/worker";
import { startRelay } from "@holdfast/testkit/relay";

const napMs = 0.01;
/** How long before bytes are due there is no nap: Linux ends one up to 0.05 ms late, and a busy machine later. */
const wakefulMs = 0.3;
/** The most that timers are late. */
const timerErrorMs = 2;

const functions = {
  /** Opens a port that leads to the target. */
  async open(targetPort: number): Promise<number> {
    const { port } = await startRelay(
      () => targetPort,
      (client, server) => {
        client.on("data", (data) => delay(() => server.write(data)));
        server.on("data", (data) => delay(() => client.write(data)));
      },
    );
    return port;
  },
  /** Sets the delay of bytes that arrive from now on. */
  setDelay(ms: number): void {
    delayMs = ms;
  },
};

/** The functions that the parent calls. */
export type NetworkFunctions = typeof functions;

serveParent(functions);

/** The delay in each direction. */
let delayMs = 0;
/** Bytes in flight, in the order of their arrival. The delay changes only while there are none. */
const held: { readonly dueMs: number; deliver(): void }[] = [];
let isRunning = false;
const napping = new Int32Array(new SharedArrayBuffer(4));

function delay(deliver: () => void): void {
  held.push({ dueMs: performance.now() + delayMs, deliver });
  if (!isRunning) run();
}

function run(): void {
  isRunning = true;
  while (held[0] !== undefined && held[0].dueMs <= performance.now()) held.shift()?.deliver();
  if (held[0] === undefined) {
    isRunning = false;
    return;
  }
  const leftMs = held[0].dueMs - performance.now();
  if (leftMs > timerErrorMs + 1) {
    setTimeout(run, leftMs - timerErrorMs);
    return;
  }
  if (leftMs > wakefulMs) Atomics.wait(napping, 0, 0, napMs);
  setImmediate(run);
}
