/**
 * A process that plays the network: it forwards all bytes a while later.
 *
 * The timers of Node.js are a millisecond too coarse for round trips of half a millisecond. While bytes are in flight, the
 * process therefore spends the last milliseconds in short naps.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { serveParent } from "@holdfast/app-kit/worker";

const napMs = 0.01;
/** The most that timers are late. */
const timerErrorMs = 2;

const functions = {
  /** Opens a port that leads to the target. */
  async open(targetPort: number): Promise<number> {
    const server = createServer((client) => relay(client, targetPort)).listen(0, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  },
  /** Sets the delay of bytes that arrive from now on. */
  setDelay(ms: number): void {
    delayMs = ms;
  },
};

/** The functions that the parent calls. */
export type NetworkFunctions = typeof functions;

serveParent(functions);

function relay(client: Socket, targetPort: number): void {
  const server = connect(targetPort, "127.0.0.1");
  client.on("data", (data: Buffer) => delay(() => server.write(data)));
  server.on("data", (data: Buffer) => delay(() => client.write(data)));
  for (const socket of [client, server]) {
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("close", () => {
      client.destroy();
      server.destroy();
    });
  }
}

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
  if (leftMs > 0) Atomics.wait(napping, 0, 0, Math.min(leftMs, napMs));
  setImmediate(run);
}
