import { Socket } from "node:net";

/** The start of a command in the Redis protocol: the number of its words, then the length of the first. */
const commandStart = /\*\d+\r\n\$/g;

/** The commands and writes of a process. */
export interface Sent {
  /** Redis commands. */
  readonly commands: number;
  /** Writes handed to the kernel. Data written while a socket is corked or busy leaves in one. */
  readonly writes: number;
}

/** The methods of a socket that take data from its user, and that hand it to the kernel. */
const userMethod = "write";
const kernelMethods = ["_write", "_writev"] as const;

// biome-ignore lint/suspicious/noExplicitAny: passed on unchanged
type Method = (this: Socket, ...args: any[]) => any;

/**
 * Starts to count what this process sends, with any client. The returned function stops counting. The servers' own counters do
 * not serve, because they include the commands of scripts.
 */
export function watchSent(): () => Sent {
  const methods = Socket.prototype as unknown as Record<string, Method>;
  const before = new Map<string, Method>();
  const sent = { commands: 0, writes: 0 };
  const spy = (name: string, onCall: (data: unknown) => void): void => {
    const method = methods[name] as Method;
    before.set(name, method);
    methods[name] = function (...args) {
      onCall(args[0]);
      return method.apply(this, args);
    };
  };
  spy(userMethod, (data) => {
    const text = typeof data === "string" ? data : Buffer.from(data as Uint8Array).toString("latin1");
    sent.commands += text.match(commandStart)?.length ?? 0;
  });
  for (const name of kernelMethods) {
    spy(name, () => {
      sent.writes += 1;
    });
  }
  return () => {
    for (const [name, method] of before) methods[name] = method;
    return sent;
  };
}
