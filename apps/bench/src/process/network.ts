/**
 * A process that plays the network: it forwards all bytes half a round trip later in each direction.
 *
 * The timers of Node.js are a millisecond too coarse for round trips of half a millisecond. While bytes are in flight, the
 * process therefore spends the last milliseconds in short naps.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { serveParent } from "@holdfast/app-kit/worker";

/** A port to forward to, and the delay. */
export interface Route {
  readonly targetPort: number;
  readonly roundTripMs: number;
}

const napMs = 0.01;
/** The time that reading, waking up and writing add in each direction, for a message to each of five servers. */
const overheadMs = 0.2;
/** The most that timers are late. */
const timerErrorMs = 2;

const functions = {
  /** Opens a port that leads to the target. */
  async open(route: Route): Promise<number> {
    const server = createServer((client) => relay(client, route)).listen(0, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  },
};

/** The functions that the parent calls. */
export type NetworkFunctions = typeof functions;

serveParent(functions);

function relay(client: Socket, { targetPort, roundTripMs }: Route): void {
  const server = connect(targetPort, "127.0.0.1");
  const deliver = (to: Socket) => delayLine(roundTripMs / 2 - overheadMs, (data: Buffer) => to.write(data));
  client.on("data", deliver(server));
  server.on("data", deliver(client));
  for (const socket of [client, server]) {
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("close", () => {
      client.destroy();
      server.destroy();
    });
  }
}

/** Bytes in flight, in the order of their arrival: all routes in use have the same delay. */
const held: { readonly dueMs: number; deliver(): void }[] = [];
let isRunning = false;
const napping = new Int32Array(new SharedArrayBuffer(4));

function delayLine<Data>(delayMs: number, deliver: (data: Data) => void): (data: Data) => void {
  return (data) => {
    held.push({ dueMs: performance.now() + delayMs, deliver: () => deliver(data) });
    if (!isRunning) run();
  };
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
