/** A TCP proxy between clients and a server, for fault injection by tests. */
import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** The direction of data: from the client to the server, or back. */
export type Direction = "requests" | "replies";

/** The server to which a proxy forwards connections. */
export interface TcpProxyTarget {
  readonly port: number;
  /** Default: `127.0.0.1`. */
  readonly host?: string;
}

/**
 * A network between clients and one server that a test controls. It implements `SubjectServer`, so a subject can use it
 * as its `server`.
 */
export interface TcpProxy {
  /** The port of 127.0.0.1 that clients connect to. */
  readonly port: number;
  /** Returns the number of open connections. */
  connections(): number;
  /** Makes the server unreachable: resets all connections and refuses new ones. */
  stop(): Promise<void>;
  /** Makes the server reachable again and ends all other faults. Delivers data that was held back. */
  start(): Promise<void>;
  /** Resets all connections, as a lost network eventually does. New connections work. */
  cut(): void;
  /** Refuses new connections and keeps the open ones. */
  refuse(): Promise<void>;
  /** Holds back all data in one direction or in both: connections stay open, but nothing arrives. */
  stall(direction?: Direction): void;
  /** Delays all further data by this many milliseconds. */
  delay(ms: number): void;
  /** Limits each direction of each connection to this many bytes per second. */
  throttle(bytesPerSecond: number): void;
  /**
   * Closes the open connections on the server's side only: clients do not notice, and their data is discarded until
   * `start()` resets these connections. New connections work.
   */
  halfOpen(): void;
  /** Closes the proxy for good. Safe to call more than once. */
  close(): Promise<void>;
}

/** How a proxy treats data at present. */
interface Conditions {
  readonly stalled: Set<Direction>;
  delayMs: number;
  bytesPerSecond: number;
}

const noFaults = { delayMs: 0, bytesPerSecond: Number.POSITIVE_INFINITY };

/** One direction of one connection. */
interface Flow {
  /** Applies a change of the conditions. */
  update(): void;
}

/** A connection of a client, and the connection to the server that carries its data. */
interface Link {
  readonly client: Socket;
  readonly server: Socket;
  readonly flows: readonly Flow[];
  /** Whether the server's side is closed and the client does not know. */
  isHalfOpen: boolean;
}

/**
 * Starts a proxy on a free port of 127.0.0.1 that forwards all connections to the target.
 *
 * @param target the server
 *
 * @example
 * ```ts
 * import { startTcpProxy } from "@holdfast/conformance/tcp-proxy";
 * import { Redis } from "ioredis";
 *
 * const proxy = await startTcpProxy({ port: 6379 });
 * const client = new Redis({ port: proxy.port });
 * await proxy.stop(); // the client loses its connection and cannot reconnect
 * await proxy.start(); // the client can reconnect
 * await proxy.close();
 * ```
 */
export async function startTcpProxy(target: TcpProxyTarget): Promise<TcpProxy> {
  const conditions: Conditions = { stalled: new Set(), ...noFaults };
  const links = new Set<Link>();
  const accept = (client: Socket): void => open(client, target, links, conditions);
  const update = (): void => {
    for (const { flows } of links) for (const flow of flows) flow.update();
  };
  const cut = (): void => {
    for (const link of links) reset(link);
  };

  const [first, reservation] = await listenOnReservedPort(accept);
  let listener: Server | null = first;
  let isClosed = false;
  const { port } = first.address() as AddressInfo;
  const refuse = async (): Promise<void> => {
    listener?.close();
    listener = null;
  };
  return {
    port,
    connections: () => links.size,
    async stop() {
      await refuse();
      cut();
    },
    stall(direction) {
      for (const one of direction ? [direction] : (["requests", "replies"] as const)) conditions.stalled.add(one);
      update();
    },
    delay(ms) {
      conditions.delayMs = ms;
    },
    throttle(bytesPerSecond) {
      conditions.bytesPerSecond = bytesPerSecond;
    },
    halfOpen() {
      for (const link of links) {
        link.isHalfOpen = true;
        link.server.resetAndDestroy();
      }
    },
    cut,
    refuse,
    async start() {
      conditions.stalled.clear();
      Object.assign(conditions, noFaults);
      update();
      for (const link of links) if (link.isHalfOpen) reset(link);
      listener ??= await listen(port, accept);
    },
    async close() {
      await refuse();
      cut();
      if (!isClosed) reservation.close();
      isClosed = true;
    },
  };
}

/*
 * A proxy that refuses connections gives up its port and must get it back later. Its port is therefore below those that
 * systems assign, and for as long as the proxy exists it also holds the UDP port of that number, which no data reaches:
 * proxies of all processes leave each other's ports alone.
 */
const [lowestPort, highestPort] = [25_000, 32_767];
const attemptsMax = 100;

async function listenOnReservedPort(accept: (client: Socket) => void): Promise<readonly [Server, DatagramSocket]> {
  const ports = highestPort - lowestPort + 1;
  const drawn = Math.floor(Math.random() * ports);
  for (let attempt = 0; ; attempt++) {
    const port = lowestPort + ((drawn + attempt) % ports);
    const reservation = createSocket("udp4").unref();
    try {
      await once(reservation.bind({ port, address: "127.0.0.1", exclusive: true }), "listening");
      return [await listen(port, accept), reservation];
    } catch (error) {
      reservation.close();
      if (attempt === attemptsMax) throw error; // otherwise, something else has the port
    }
  }
}

function open(client: Socket, target: TcpProxyTarget, links: Set<Link>, conditions: Conditions): void {
  const server = connect({ host: "127.0.0.1", ...target, allowHalfOpen: true });
  const flows = [flow(client, server, "requests", conditions), flow(server, client, "replies", conditions)];
  const link: Link = { client, server, flows, isHalfOpen: false };
  links.add(link);
  for (const socket of [client, server]) {
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("close", () => {
      if (socket === server && link.isHalfOpen) return;
      links.delete(link);
      client.destroy();
      server.destroy();
    });
  }
}

function reset({ client, server }: Link): void {
  client.resetAndDestroy();
  server.resetAndDestroy();
}

async function listen(port: number, accept: (client: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, accept).listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** Forwards data from one socket to the other, in order, under the present conditions. */
function flow(from: Socket, to: Socket, direction: Direction, conditions: Conditions): Flow {
  const held: { readonly dueMs: number; deliver(): void }[] = [];
  const isStalled = (): boolean => conditions.stalled.has(direction);

  let timer: NodeJS.Timeout | undefined;
  const deliverDue = (): void => {
    clearTimeout(timer);
    if (isStalled()) return;
    while (held[0] !== undefined && held[0].dueMs <= performance.now()) held.shift()?.deliver();
    // A timer counts from when the event loop last woke up, so it may fire early on a busy machine and must be set
    // again.
    if (held[0] !== undefined) timer = setTimeout(deliverDue, Math.max(1, held[0].dueMs - performance.now()));
  };
  /** When a throttled connection has sent the last byte accepted so far. */
  let lineFreeMs = 0;
  const hold = (bytes: number, deliver: () => void): void => {
    const nowMs = performance.now();
    lineFreeMs = Math.max(nowMs, lineFreeMs) + (bytes / conditions.bytesPerSecond) * 1000;
    held.push({ dueMs: lineFreeMs + conditions.delayMs, deliver });
    deliverDue();
  };
  const update = (): void => {
    // Pausing the socket also holds back its sender once the buffers are full.
    if (isStalled()) from.pause();
    else from.resume();
    deliverDue();
  };
  from.on("data", (data) => hold(data.length, () => to.writable && to.write(data)));
  from.on("end", () => hold(0, () => to.end()));
  update();
  return { update };
}
