import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** From the client to the server, or back. */
export type Direction = "requests" | "replies";

/** A network between a client and one server on 127.0.0.1 that a test controls. */
export interface TcpProxy {
  /** Where clients connect to. */
  readonly port: number;
  /** How many connections are open now. */
  readonly connections: number;
  /** Holds back what is sent in one direction, or in both: half-open connections, on which nothing arrives any more. */
  stall(direction?: Direction): void;
  /** From now on, delivers everything this many milliseconds later. */
  delay(ms: number): void;
  /** Cuts all connections, as a lost network does in the end: neither side hears a farewell. */
  cut(): void;
  /** Refuses new connections; those that are open stay. */
  refuse(): Promise<void>;
  /** Ends stalling, delay and refusing. What was held back arrives now. */
  resume(): Promise<void>;
  /** Closes everything. Safe to call more than once. */
  stop(): Promise<void>;
}

/** What a proxy does with data at the moment. */
interface Weather {
  readonly stalled: Set<Direction>;
  delayMs: number;
}

/** One direction of one connection. */
interface Flow {
  /** Looks again at whether it may flow. */
  update(): void;
}

/** Starts a proxy on a free port of 127.0.0.1 that passes everything on to the target port. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const weather: Weather = { stalled: new Set(), delayMs: 0 };
  const sockets = new Set<Socket>();
  const flows = new Set<Flow>();

  const accept = (client: Socket): void => {
    const server = connect({ port: targetPort, host: "127.0.0.1", allowHalfOpen: true });
    const both = [flow(client, server, "requests", weather), flow(server, client, "replies", weather)];
    for (const one of both) flows.add(one);
    for (const [socket, other] of [[client, server] as const, [server, client] as const]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        for (const one of both) flows.delete(one);
        other.destroy();
      });
    }
  };
  const update = (): void => {
    for (const flow of flows) flow.update();
  };
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };

  let listener: Server | null = await listen(0, accept);
  const { port } = listener.address() as AddressInfo;
  const refuse = async (): Promise<void> => {
    listener?.close();
    listener = null;
  };
  return {
    port,
    get connections() {
      return sockets.size / 2;
    },
    stall(direction) {
      for (const one of direction ? [direction] : (["requests", "replies"] as const)) weather.stalled.add(one);
      update();
    },
    delay(ms) {
      weather.delayMs = ms;
    },
    cut,
    refuse,
    async resume() {
      weather.stalled.clear();
      weather.delayMs = 0;
      update();
      listener ??= await listen(port, accept);
    },
    async stop() {
      await refuse();
      cut();
    },
  };
}

async function listen(port: number, accept: (client: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, accept).listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** Passes on what one socket sends to the other, in order, as the weather allows. */
function flow(from: Socket, to: Socket, direction: Direction, weather: Weather): Flow {
  const held: { readonly dueMs: number; deliver(): void }[] = [];
  const isStalled = (): boolean => weather.stalled.has(direction);

  const deliverDue = (): void => {
    while (!isStalled() && held[0] !== undefined && held[0].dueMs <= performance.now()) held.shift()?.deliver();
  };
  const hold = (deliver: () => void): void => {
    const { delayMs } = weather;
    held.push({ dueMs: performance.now() + delayMs, deliver });
    // One millisecond more, as timers may fire a little early.
    if (delayMs > 0) setTimeout(deliverDue, delayMs + 1);
    deliverDue();
  };
  const update = (): void => {
    // A paused socket is not read from, so that its sender is held back, too, once the buffers are full.
    if (isStalled()) from.pause();
    else from.resume();
    deliverDue();
  };
  from.on("data", (data) => hold(() => to.writable && to.write(data)));
  from.on("end", () => hold(() => to.end()));
  update();
  return { update };
}
