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
  /** From now on, lets so many bytes pass per second, in each direction of each connection. */
  throttle(bytesPerSecond: number): void;
  /**
   * Forgets the open connections on the server's side, while clients still believe in them: what they send is swallowed,
   * until `resume()` resets them. New connections work.
   */
  halfOpen(): void;
  /** Cuts all connections, as a lost network does in the end: neither side hears a farewell. */
  cut(): void;
  /** Refuses new connections; those that are open stay. */
  refuse(): Promise<void>;
  /** Ends stalling, delays, throttling, half-open connections and refusing. What was held back arrives now. */
  resume(): Promise<void>;
  /** Closes everything. Safe to call more than once. */
  stop(): Promise<void>;
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

/** Starts a proxy on a free port of 127.0.0.1 that passes everything on to the target port. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const weather: Weather = { stalled: new Set(), ...fairWeather };
  const links = new Set<Link>();
  const accept = (client: Socket): void => open(client, targetPort, links, weather);
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
    get connections() {
      return links.size;
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
    async resume() {
      weather.stalled.clear();
      Object.assign(weather, fairWeather);
      update();
      for (const link of links) if (link.isHalfOpen) reset(link);
      listener ??= await listen(port, accept);
    },
    async stop() {
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

function open(client: Socket, targetPort: number, links: Set<Link>, weather: Weather): void {
  const server = connect({ port: targetPort, host: "127.0.0.1", allowHalfOpen: true });
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
