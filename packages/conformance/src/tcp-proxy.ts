/** A TCP proxy between clients and a server, with faults that a test controls. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** From the client to the server, or back. */
export type Direction = "requests" | "replies";

/** Where a proxy passes connections on to. */
export interface TcpProxyTarget {
  readonly port: number;
  /** Default: `127.0.0.1`. */
  readonly host?: string;
}

/**
 * A network between clients and one server that a test controls. It has all that the `server` of a subject needs, so it
 * can be that `server` itself.
 */
export interface TcpProxy {
  /** The port of 127.0.0.1 that clients connect to. */
  readonly port: number;
  /** Counts the connections that are open now. */
  connections(): number;
  /** Makes the server unreachable: cuts all connections and refuses new ones. */
  stop(): Promise<void>;
  /** Makes the server reachable again: ends every fault of this list. Data that was held back arrives now. */
  start(): Promise<void>;
  /** Cuts all connections with a reset, as a lost network does in the end. New connections work. */
  cut(): void;
  /** Refuses new connections, and keeps those that are open. */
  refuse(): Promise<void>;
  /** Holds back all data in one direction, or in both: connections stay open, and nothing arrives. */
  stall(direction?: Direction): void;
  /** Delivers everything this many milliseconds later from now on. */
  delay(ms: number): void;
  /** Limits each direction of each connection to this many bytes per second from now on. */
  throttle(bytesPerSecond: number): void;
  /**
   * Drops the open connections on the server's side while clients still believe in them: data that clients send is
   * discarded until `start()` resets these connections. New connections work.
   */
  halfOpen(): void;
  /** Closes the proxy for good. Safe to call more than once. */
  close(): Promise<void>;
}

/** What a proxy does with data at the moment. */
interface Weather {
  readonly stalled: Set<Direction>;
  delayMs: number;
  bytesPerSecond: number;
}

const fairWeather = { delayMs: 0, bytesPerSecond: Number.POSITIVE_INFINITY };

/** One direction of one connection. */
interface Flow {
  /** Looks again at whether it may flow. */
  update(): void;
}

/** A connection of a client, and the one to the server that it is passed on over. */
interface Link {
  readonly client: Socket;
  readonly server: Socket;
  readonly flows: readonly Flow[];
  /** Whether the server has lost it, and the client does not know. */
  isHalfOpen: boolean;
}

/**
 * Starts a proxy on a free port of 127.0.0.1 that passes everything on to the target.
 *
 * @example
 * ```ts
 * const proxy = await startTcpProxy({ port: 6379 });
 * const client = new Redis({ port: proxy.port });
 * await proxy.stop(); // the client loses its connection, and cannot reconnect
 * await proxy.start(); // now it can
 * await proxy.close();
 * ```
 */
export async function startTcpProxy(target: TcpProxyTarget): Promise<TcpProxy> {
  const weather: Weather = { stalled: new Set(), ...fairWeather };
  const links = new Set<Link>();
  const accept = (client: Socket): void => open(client, target, links, weather);
  const update = (): void => {
    for (const { flows } of links) for (const flow of flows) flow.update();
  };
  const cut = (): void => {
    for (const link of links) reset(link);
  };

  let listener: Server | null = await listenOnReservedPort(accept);
  const { port } = listener.address() as AddressInfo;
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
      for (const one of direction ? [direction] : (["requests", "replies"] as const)) weather.stalled.add(one);
      update();
    },
    delay(ms) {
      weather.delayMs = ms;
    },
    throttle(bytesPerSecond) {
      weather.bytesPerSecond = bytesPerSecond;
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
      weather.stalled.clear();
      Object.assign(weather, fairWeather);
      update();
      for (const link of links) if (link.isHalfOpen) reset(link);
      listener ??= await listen(port, accept);
    },
    async close() {
      await refuse();
      cut();
      reservedPorts.delete(port);
    },
  };
}

/*
 * A proxy that refuses connections leaves its port free, and must find it free later. So proxies use ports below those that
 * systems give out, and each process has a block of its own, as long as not too many run at a time.
 */
const firstPort = 20_000;
const portsOfProcess = 64;
const blocks = 199;
const reservedPorts = new Set<number>();

async function listenOnReservedPort(accept: (client: Socket) => void): Promise<Server> {
  const first = firstPort + (process.pid % blocks) * portsOfProcess;
  for (let port = first; port < first + portsOfProcess; port++) {
    if (reservedPorts.has(port)) continue;
    reservedPorts.add(port);
    try {
      return await listen(port, accept);
    } catch {
      reservedPorts.delete(port); // another process has it
    }
  }
  return listen(0, accept);
}

function open(client: Socket, target: TcpProxyTarget, links: Set<Link>, weather: Weather): void {
  const server = connect({ host: "127.0.0.1", ...target, allowHalfOpen: true });
  const flows = [flow(client, server, "requests", weather), flow(server, client, "replies", weather)];
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

/** Passes on what one socket sends to the other, in order, as the weather allows. */
function flow(from: Socket, to: Socket, direction: Direction, weather: Weather): Flow {
  const held: { readonly dueMs: number; deliver(): void }[] = [];
  const isStalled = (): boolean => weather.stalled.has(direction);

  let timer: NodeJS.Timeout | undefined;
  const deliverDue = (): void => {
    clearTimeout(timer);
    if (isStalled()) return;
    while (held[0] !== undefined && held[0].dueMs <= performance.now()) held.shift()?.deliver();
    // A timer counts from when the event loop last woke up, and so may fire early on a busy machine: then once more.
    if (held[0] !== undefined) timer = setTimeout(deliverDue, Math.max(1, held[0].dueMs - performance.now()));
  };
  /** When the last byte accepted so far has left a throttled line. */
  let lineFreeMs = 0;
  const hold = (bytes: number, deliver: () => void): void => {
    const nowMs = performance.now();
    lineFreeMs = Math.max(nowMs, lineFreeMs) + (bytes / weather.bytesPerSecond) * 1000;
    held.push({ dueMs: lineFreeMs + weather.delayMs, deliver });
    deliverDue();
  };
  const update = (): void => {
    // A paused socket is not read from, so that its sender is held back, too, once the buffers are full.
    if (isStalled()) from.pause();
    else from.resume();
    deliverDue();
  };
  from.on("data", (data) => hold(data.length, () => to.writable && to.write(data)));
  from.on("end", () => hold(0, () => to.end()));
  update();
  return { update };
}
