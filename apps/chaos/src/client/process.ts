/** A client as a process of its own: does what its parent tells it over IPC. */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { ChaosAdapter, Connected } from "../adapter.ts";
import { contender } from "./contend.ts";
import type { ClientOrder, Contention, FromClient, ToClient } from "./messages.ts";
import { connectStore } from "./store.ts";

const order = JSON.parse(process.argv[2] ?? "") as ClientOrder;

process.on("SIGINT", () => {}); // Ctrl-C reaches the whole group: the parent sees to an orderly end
process.on("disconnect", () => process.exit()); // without a parent there is nothing left to do

const { connect } = (await import(pathToFileURL(resolve(order.adapter)).href)) as ChaosAdapter;
if (typeof connect !== "function") throw new TypeError(`${order.adapter} exports no function connect`);
const store = await connectStore(order.storeUrl);
const connections = new Map<boolean, Promise<Connected>>();
const contend = contender(order, tell);
let stop = new AbortController();

process.on("message", (message: ToClient) => {
  if (message.kind === "stop") stop.abort();
  else void run(message.contention);
});
await connected(false);
tell({ kind: "ready" });

async function run(contention: Contention): Promise<void> {
  stop = new AbortController();
  const { nodes } = await connected(contention.guarded);
  await contend(nodes, store.of(contention.slice), contention, stop.signal);
  tell({ kind: "drained" });
}

/** Connects when it is first needed: a run without a guard must do with adapters that know of none. */
function connected(guarded: boolean): Promise<Connected> {
  const connection = connections.get(guarded) ?? connect(order.urls, { restartGuardMs: guarded ? order.ttlMs : 0 });
  connections.set(guarded, connection);
  return connection;
}

function tell(message: FromClient): void {
  process.send?.(message);
}
