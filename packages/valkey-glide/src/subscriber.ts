import type { RedisSubscriber } from "@holdfast/redis";
import type { ValkeyGlideSubscriber } from "./client.ts";

/** How long the server may take to confirm a subscription before the next one is begun. */
const confirmMs = 5_000;

/** Listens over a client that is being made, and that is closed at the end. */
export function openSubscriber(
  made: Promise<ValkeyGlideSubscriber>,
  onMessage: (channel: string, message: string) => void,
  onEnd: (error: unknown) => void,
): RedisSubscriber {
  void listen(made, onMessage).catch(onEnd);
  return {
    subscribe: async (channel) => (await made).subscribe([channel], confirmMs),
    unsubscribe: async (channel) => (await made).unsubscribe([channel], confirmMs),
    close: () => void made.then((client) => client.close()).catch(() => {}),
  };
}

/** Rejects when the client could not be made, or has been closed. */
async function listen(
  made: Promise<ValkeyGlideSubscriber>,
  onMessage: (channel: string, message: string) => void,
): Promise<never> {
  const client = await made;
  for (;;) {
    const { channel, message } = await client.getPubSubMessage();
    onMessage(textOf(channel), textOf(message));
  }
}

function textOf(value: string | Uint8Array): string {
  return typeof value === "string" ? value : Buffer.from(value).toString();
}
