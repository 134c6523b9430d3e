/** Work under a lock: it is given the lock, and shows its token to the storage. */
import type { Lock } from "@holdfast/core";
import type { FencedStore } from "@holdfast/ioredis";

/** The state of an invoice, before and now. */
export interface Closed {
  readonly was: string;
  readonly is: "closed";
}

/** Closes an invoice. A repetition changes nothing, as clients and queues repeat what they got no answer to. */
export async function closeInvoice(store: FencedStore, id: string, { fence, signal }: Lock): Promise<Closed> {
  const key = `invoice:${id}`;
  const { value } = await store.read(key, fence); // from now on, the store refuses writes with older tokens
  const was = String(value ?? "open");
  if (was !== "closed") {
    signal.throwIfAborted(); // the lock is lost: start no further step
    await store.write(key, "closed", fence);
  }
  return { was, is: "closed" };
}
