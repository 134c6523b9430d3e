/** A client in a process of its own. */
import { serveParent } from "@holdfast/app-kit/worker";
import type { ChaosAdapter, Connected } from "../adapter.ts";
import { contend } from "./contend.ts";
import type { ClientOrder, Contention, FromClient } from "./messages.ts";
import { connectStore } from "./store.ts";

let order: ClientOrder;
let connect: ChaosAdapter["connect"];
let store: Awaited<ReturnType<typeof connectStore>>;
let stopping = new AbortController();
let contending: Promise<void> = Promise.resolve();
const connections = new Map<boolean, Promise<Connected>>();

const functions = {
  /** Connects to the servers and to the store. */
  async open(given: ClientOrder): Promise<void> {
    order = given;
    const adapter: Partial<ChaosAdapter> = await import(order.module);
    if (typeof adapter.connect !== "function") throw new TypeError(`${order.adapter} exports no function connect`);
    connect = adapter.connect;
    store = await connectStore(order.storeUrl);
    await connected(false);
  },
  /** Starts to contend for the lock. */
  start(contention: Contention): void {
    stopping = new AbortController();
    const { signal } = stopping;
    const run = async (): Promise<void> => {
      const { nodes } = await connected(contention.guarded);
      await contend({ ...order, nodes, store: store.of(contention.slice), ...contention }, tell, signal);
    };
    contending = run();
  },
  /** Stops contending, and resolves when the client has left the lock. */
  stop(): Promise<void> {
    stopping.abort();
    return contending;
  },
};

/** The functions that the parent calls. */
export type ClientFunctions = typeof functions;

const parent = serveParent<{ tell(message: FromClient): void }>(functions);

function tell(message: FromClient): void {
  parent.emit("tell", message);
}

/** Connects on first use: a run without `crash-guarded` accepts adapters that have no guard. */
function connected(guarded: boolean): Promise<Connected> {
  const connection = connections.get(guarded) ?? connect(order.urls, { restartGuardMs: guarded ? order.ttlMs : 0 });
  connections.set(guarded, connection);
  return connection;
}
