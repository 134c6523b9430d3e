import { Socket } from "node:net";

/** How a command begins in Redis's protocol: the number of its words, then the length of the first. */
const beginning = /\*\d+\r\n\$/g;

/** What a process has sent. */
export interface Sent {
  /** Redis commands. */
  readonly commands: number;
  /** Writes that were handed to the kernel; what is written while a socket is corked, or busy, leaves in one. */
  readonly writes: number;
}

/** The methods of a socket through which data comes in from whoever writes, and goes on to the kernel. */
const entrance = "write";
const exits = ["_write", "_writev"] as const;

// biome-ignore lint/suspicious/noExplicitAny: passed on as they are
type Method = (this: Socket, ...args: any[]) => any;

/**
 * Begins to count what this process sends, by whatever client, and answers what ends it. Servers cannot tell: they also
 * count what scripts do as commands.
 */
export function watchSent(): () => Sent {
  const methods = Socket.prototype as unknown as Record<string, Method>;
  const before = new Map<string, Method>();
  const sent = { commands: 0, writes: 0 };
  const listen = (name: string, hear: (data: unknown) => void): void => {
    const method = methods[name] as Method;
    before.set(name, method);
    methods[name] = function (...args) {
      hear(args[0]);
      return method.apply(this, args);
    };
  };
  listen(entrance, (data) => {
    const text = typeof data === "string" ? data : Buffer.from(data as Uint8Array).toString("latin1");
    sent.commands += text.match(beginning)?.length ?? 0;
  });
  for (const exit of exits) {
    listen(exit, () => {
      sent.writes += 1;
    });
  }
  return () => {
    for (const [name, method] of before) methods[name] = method;
    return sent;
  };
}
