import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { freePort } from "@holdfast/testkit";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { startTcpProxy, type TcpProxy } from "../src/tcp-proxy.ts";

let proxy: TcpProxy;

/** A server that echoes its input. */
beforeEach(async () => {
  const server = createServer((socket) => socket.on("error", () => {}).pipe(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  proxy = await startTcpProxy({ port: (server.address() as AddressInfo).port });
  onTestFinished(async () => {
    await proxy.close();
    await proxy.close();
    server.close();
  });
});

interface Client {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  received(): string;
}

async function open(): Promise<Client> {
  const socket = connect(proxy.port, "127.0.0.1");
  let received = "";
  socket.setEncoding("utf8").on("data", (data) => {
    received += data;
  });
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.on("close", resolve));
  await once(socket, "connect");
  return { socket, closed, received: () => received };
}

async function pass(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

describe("startTcpProxy()", () => {
  test("startTcpProxy() forwards all data and the end of a connection", async () => {
    const { socket, closed, received } = await open();
    const text = "x".repeat(1_000_000);
    socket.end(text);
    await closed;
    expect(received()).toBe(text);
    await expect.poll(() => proxy.connections()).toBe(0);
  });

  test.each(["requests", "replies", undefined] as const)("stall(%s) holds back until start()", async (direction) => {
    const { socket, received } = await open();
    socket.write("a");
    await expect.poll(received).toBe("a");
    proxy.stall(direction);
    socket.write("b");
    await pass(30);
    expect(received()).toBe("a");
    expect(proxy.connections()).toBe(1);
    await proxy.start();
    await expect.poll(received).toBe("ab");
  });

  test("stall() also holds back data of new connections", async () => {
    proxy.stall();
    const { socket, received } = await open();
    socket.write("a");
    await pass(30);
    expect(received()).toBe("");
    await proxy.start();
    await expect.poll(received).toBe("a");
  });

  test("delay() delivers later and in order, also what arrived before it was shortened", async () => {
    const { socket, received } = await open();
    socket.write("0");
    await expect.poll(received).toBe("0");
    proxy.delay(50);
    const startMs = performance.now();
    await new Promise<unknown>((resolve) => socket.write("a", resolve));
    for (let turn = 0; turn < 5; turn++) await setImmediate(); // the proxy, in this process, reads it in one of them
    proxy.delay(1);
    socket.write("b");
    await expect.poll(received, { interval: 1 }).toBe("0ab");
    expect(performance.now() - startMs).toBeGreaterThan(48); // timers count in whole milliseconds
  });

  test("cut() resets all connections, and new ones work", async () => {
    const clients = [await open(), await open()];
    proxy.cut();
    await Promise.all(clients.map(({ closed }) => closed));
    const { socket, received } = await open();
    socket.write("a");
    await expect.poll(received).toBe("a");
  });

  test("refuse() refuses new connections and keeps open ones until start()", async () => {
    const { socket, received } = await open();
    await proxy.refuse();
    await expect(once(connect(proxy.port, "127.0.0.1"), "connect")).rejects.toThrow("ECONNREFUSED");
    socket.write("a");
    await expect.poll(received).toBe("a");
    await proxy.start();
    await open();
  });

  test("throttle() limits the bytes per second, in order", async () => {
    const { socket, received } = await open();
    proxy.throttle(10_000);
    const startMs = performance.now();
    const text = "x".repeat(999);
    socket.write(text);
    await expect.poll(received, { interval: 1 }).toBe(text);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(199); // there and back
  });

  test("halfOpen() discards the data of open connections, and start() resets them", async () => {
    const { socket, closed, received } = await open();
    socket.write("a");
    await expect.poll(received).toBe("a");
    proxy.halfOpen();
    socket.write("b");
    const fresh = await open();
    fresh.socket.write("c");
    await expect.poll(fresh.received).toBe("c");
    expect(socket.closed).toBe(false);
    await proxy.start();
    await closed;
    expect(received()).toBe("a");
    fresh.socket.write("d");
    await expect.poll(fresh.received).toBe("cd");
  });
});

describe("the port of a proxy", () => {
  test("the port is left alone by all other proxies until close(), also while connections are refused", async () => {
    await proxy.stop();
    expect((await startDrawing(proxy.port)).port).not.toBe(proxy.port);
    await proxy.start();
    await proxy.close();
    expect((await startDrawing(proxy.port)).port).toBe(proxy.port);
  });

  test("the port is one that no other program listens on", async () => {
    await proxy.close();
    const server = createServer().listen(proxy.port, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    expect((await startDrawing(proxy.port)).port).not.toBe(proxy.port);
  });

  test("the port is above those of the servers that tests start, and of their cluster buses", async () => {
    const servers = await Promise.all(Array.from({ length: 200 }, freePort));
    const drawn = [25_000, 32_767].map((port) => startDrawing(port));
    const [lowest = 0, highest = 0] = (await Promise.all(drawn)).map(({ port }) => port);
    expect(lowest).toBeGreaterThan(Math.max(...servers) + 10_000);
    expect(highest).toBeLessThan(32_768);
  });
});

/** Starts a proxy that draws this port first. */
async function startDrawing(port: number): Promise<TcpProxy> {
  vi.spyOn(Math, "random").mockReturnValueOnce((port - 25_000 + 0.5) / 7_768);
  const started = await startTcpProxy({ port: 1 });
  onTestFinished(() => started.close());
  return started;
}
