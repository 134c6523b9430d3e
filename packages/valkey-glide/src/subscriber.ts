import type { RedisSubscriber } from "@holdfast/redis";
import type { ValkeyGlideSubscriber } from "./client.ts";

/** How long the server may take to confirm a subscription before the next one starts. */
const confirmMs = 5_000;

/** Returns a subscriber over a client that is still connecting. Closing it closes the client. */
export function openSubscriber(
  connecting: Promise<ValkeyGlideSubscriber>,
  onMessage: (channel: string, message: string) => void,
  onEnd: (error: unknown) => void,
): RedisSubscriber {
  void listen(connecting, onMessage).catch(onEnd);
  return {
    subscribe: async (channel) => (await connecting).subscribe([channel], confirmMs),
    unsubscribe: async (channel) => (await connecting).unsubscribe([channel], confirmMs),
    close: () => void connecting.then((client) => client.close()).catch(() => {}),
  };
}

/** Delivers messages. Rejects if the client cannot be created, or when it is closed. */
async function listen(
  connecting: Promise<ValkeyGlideSubscriber>,
  onMessage: (channel: string, message: string) => void,
): Promise<never> {
  const client = await connecting;
  for (;;) {
    const { channel, message } = await client.getPubSubMessage();
    onMessage(textOf(channel), textOf(message));
  }
}

function textOf(value: string | Uint8Array): string {
  return typeof value === "string" ? value : Buffer.from(value).toString();
}
