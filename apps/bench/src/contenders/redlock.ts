/** redlock 4, redlock 5 and the fork of the latter. */
import { connectIoredis, disconnect } from "@holdfast/app-kit/clients";
import { type Client, type Connect, type Settings, ttlMs } from "./contender.ts";

type Clients = Awaited<ReturnType<typeof connectIoredis>>;
type Retries = Partial<Record<"retryDelay" | "retryJitter" | "retryCount", number>>;

const retriesOf: Partial<Record<Settings["waiting"], Retries>> = {
  tuned: { retryDelay: 10, retryJitter: 5, retryCount: 1_000 },
  patient: { retryCount: -1 },
};

/** Connects clients, and acquires with what `open` makes of them. */
function over(open: (clients: Clients, retries: Retries) => Promise<Client["acquire"]>): Connect {
  return async (ports, { waiting }) => {
    const clients = await connectIoredis(ports);
    return { acquire: await open(clients, retriesOf[waiting] ?? {}), close: () => disconnect(clients) };
  };
}

export const redlock4: Connect = over(async (clients, retries) => {
  const { default: Redlock } = await import("redlock4");
  const redlock = new Redlock(clients, retries);
  return async (key) => {
    const lock = await redlock.lock([key], ttlMs);
    return () => lock.unlock();
  };
});

/** The class of redlock 5, or that of its fork. */
type Redlock5 = new (
  clients: Clients,
  retries: Retries,
) => { acquire(keys: string[], ttlMs: number): Promise<{ release(): Promise<unknown> }> };

function overRedlock5(load: () => Promise<Redlock5>): Connect {
  return over(async (clients, retries) => {
    const redlock = new (await load())(clients, retries);
    return async (key) => {
      const lock = await redlock.acquire([key], ttlMs);
      return () => lock.release();
    };
  });
}

export const redlock5: Connect = overRedlock5(async () => (await import("redlock5")).default);
export const sesamecare: Connect = overRedlock5(async () => (await import("@sesamecare-oss/redlock")).Redlock);
