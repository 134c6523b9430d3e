import { startRelay } from "./relay.ts";

/** The data that the client gets instead of the server's, and whether the connection ends after it. */
export interface Tampering {
  readonly data: Buffer;
  /** Ends the connection by FIN ("end") or RST ("reset"). */
  readonly then?: "end" | "reset";
}

/** A proxy between clients and a server on 127.0.0.1 that alters the server's replies. */
export interface TamperingProxy {
  /** The port for clients. */
  readonly port: number;
  /** Called with all data from the server; undefined forwards the data unchanged. */
  tamper: ((data: Buffer) => Tampering) | undefined;
  /** Closes the proxy and all connections. */
  stop(): Promise<void>;
}

/** Starts a proxy for a target port, on a free port of 127.0.0.1. */
export async function startTamperingProxy(targetPort: number): Promise<TamperingProxy> {
  const relay = await startRelay(
    () => targetPort,
    (client, server) => {
      client.on("data", (data) => server.write(data));
      server.on("data", (data) => {
        if (!client.writable) return;
        const { data: told, then } = proxy.tamper?.(data) ?? { data };
        if (then === "end") client.end(told);
        else if (then === "reset") client.write(told, () => client.resetAndDestroy());
        else client.write(told);
      });
    },
  );
  const proxy: TamperingProxy = { port: relay.port, tamper: undefined, stop: relay.close };
  return proxy;
}

/** Forwards a number of bytes, then ends the connection. Later connections are left alone. */
export function endingAfter(bytes: number, then: "end" | "reset"): (data: Buffer) => Tampering {
  let left = bytes;
  let isOver = false;
  return (data) => {
    if (isOver) return { data };
    isOver = data.length >= left;
    const told = data.subarray(0, left);
    left -= told.length;
    return isOver ? { data: told, then } : { data: told };
  };
}

/** Flips some bits of one byte. */
export function corrupting(byte: number, bits: number): (data: Buffer) => Tampering {
  let at = byte;
  return (data) => {
    const told = Buffer.from(data);
    if (at >= 0 && at < told.length) told[at] = (told[at] as number) ^ bits;
    at -= data.length;
    return { data: told };
  };
}
