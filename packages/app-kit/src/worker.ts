import { createBirpc } from "birpc";

type ArgumentsOf<Served> = Served extends (...args: infer Args) => unknown ? Args : never;

/** Serves functions to the process that started this one by `startWorkerProcess()`, and ends with that process. */
export function serveParent<Events extends object>(functions: object) {
  const end = (): void => process.exit(1);
  process.on("SIGINT", () => {}); // Ctrl-C reaches the whole process group, and the parent stops its workers
  process.on("disconnect", end);
  let allSent: Promise<void> = Promise.resolve();
  const rpc = createBirpc<Record<string, (...args: unknown[]) => unknown>, object, false>(functions, {
    proxify: false,
    timeout: -1,
    post(message) {
      allSent = new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
    },
    on: (listener) => void process.on("message", listener),
  });
  return {
    /** Calls a function of the parent. An error that it throws there ends this process. */
    emit: <Name extends keyof Events>(name: Name, ...args: ArgumentsOf<Events[Name]>) =>
      void rpc.$call(String(name), ...args),
    /** Calls a function of the parent, and resolves with its result. */
    call: <Name extends keyof Events>(name: Name, ...args: ArgumentsOf<Events[Name]>): Promise<unknown> =>
      rpc.$call(String(name), ...args),
    /** Closes the channel when all messages have left, so that the process ends when nothing else keeps it alive. */
    async leave(): Promise<void> {
      await new Promise(setImmediate); // for the reply to the call that leads here
      await allSent;
      process.off("disconnect", end);
      process.disconnect();
    },
  };
}
