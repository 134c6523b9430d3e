import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { hostname, uptime } from "node:os";
import { type Clock, type Observer, systemClock, type ValidEvent } from "@holdfast/core";
import { assertOptions, checkInteger, checkMethods, checkType } from "@holdfast/core/node";

/** A value as a history records it. Values are compared as text. */
export type RecordedValue = string | number | boolean | null | undefined;

/** The options of {@link recordHistory}. */
export interface HistoryOptions {
  /** The name of this process in timelines. Default: the host name and the process id. */
  readonly process?: string | undefined;
  /** The clock of the `Redlock` that is observed. Default: the clock of this process. */
  readonly clock?: Clock | undefined;
}

/** The options of an access. */
export interface AccessOptions {
  /** The token that the access presents. Without it, a history cannot show that an update was lost. */
  readonly fence?: number | undefined;
}

/** Records what this process does. */
export interface HistoryRecorder {
  /** Records locks: pass it to `Redlock`. */
  readonly observer: Observer;
  /**
   * Records a read of the value that a lock protects.
   *
   * @param resource the name of the value, such as the locked resource
   * @param access reads. If it rejects, the read counts as not made
   * @returns what `access` returns
   * @throws {TypeError} naming the bad argument, or if the value is an object: return its version or a digest
   */
  read<Value extends RecordedValue>(
    resource: string,
    options: AccessOptions,
    access: () => Value | PromiseLike<Value>,
  ): Promise<Value>;
  /**
   * Records a write.
   *
   * @param resource the name of the value
   * @param value what is written. Values that differ from each other show most mistakes
   * @param access writes. It returns false if the storage has refused the write for its token. If it rejects, the write
   *   may or may not have happened
   * @returns what `access` returns
   * @throws {TypeError} naming the bad argument
   */
  write<Result>(
    resource: string,
    value: RecordedValue,
    options: AccessOptions,
    access: () => Result | PromiseLike<Result>,
  ): Promise<Result>;
  /** Ends the recording, and closes the file. Close the `Redlock` first: locks whose release is not recorded seem held. */
  close(): void;
}

/**
 * Records a history of locks and of the accesses to the data that they protect, as lines of JSON for `holdfast check`
 * and `checkHistory()`. Each line is written before the next request is sent, so a killed process loses at most the
 * line that it was writing. If writing fails, the recording ends with a warning of the process, and nothing else does.
 *
 * @param target the file to create, or a function that writes a line. One that keeps lines back must not lose them: without
 *   its release, a lock seems to be held until its validity ends
 * @throws {TypeError} naming the bad option
 * @throws the error of the file system if the file exists or cannot be created: each start of a process has its own file
 *
 * @example
 * ```ts
 * import { recordHistory } from "@holdfast/history";
 *
 * const lines: string[] = [];
 * const history = recordHistory((line) => lines.push(line));
 * const redlock = new Redlock([memoryNode()], { observer: history.observer });
 * let stock = 40;
 * await redlock.using("stock", async ({ fence }) => {
 *   const before = await history.read("stock", { fence }, () => stock);
 *   await history.write("stock", before - 1, { fence }, () => {
 *     stock = before - 1;
 *   });
 * });
 * history.close();
 * ```
 */
export function recordHistory(
  target: string | ((line: string) => unknown),
  options: HistoryOptions = {},
): HistoryRecorder {
  assertOptions(options, ["process", "clock"], "recordHistory");
  const { process: name = `${hostname()}:${process.pid}`, clock = systemClock } = options;
  checkType("process", "string", name);
  checkMethods("clock", ["monotonicMs", "wallMs"], clock);
  if (typeof target !== "string") checkType("target", "function", target);
  let file = typeof target === "string" ? openSync(target, "wx") : undefined;
  const write = typeof target === "string" ? (line: string) => writeSync(file as number, line) : target;
  const originMs = originOf(clock);
  let isOpen = true;
  let accesses = 0;

  const fail = (error: unknown): void => {
    if (isOpen) process.emitWarning(`the history of ${name} is incomplete from now on: ${(error as Error)?.message}`);
    isOpen = false;
  };
  const put = (event: object): void => {
    if (!isOpen) return;
    const times = { atMs: micros(originMs + clock.monotonicMs()), wallMs: clock.wallMs() };
    try {
      const written = write(`${JSON.stringify({ ...times, ...event })}\n`);
      if (written instanceof Promise) written.catch(fail);
    } catch (error) {
      fail(error);
    }
  };
  const term = ({ owner, startedAt, validityMs }: ValidEvent) => ({
    ...{ owner, fromMs: micros(originMs + startedAt.monotonicMs), fromWallMs: startedAt.wallMs, validityMs },
  });
  /** Records an access, and its answer as `answerOf` finds it in the result. */
  const record = async <Result>(
    event: { readonly event: "read" | "write"; readonly resource: string; readonly value?: string },
    options: AccessOptions,
    access: () => Result | PromiseLike<Result>,
    answerOf: (result: Result) => { readonly outcome: "accepted" | "refused"; readonly value?: string },
  ): Promise<Result> => {
    checkType("resource", "string", event.resource);
    assertOptions(options, ["fence"], `${event.event}()`);
    if (options.fence !== undefined) checkInteger("fence", options.fence);
    checkType("access", "function", access);
    accesses += 1;
    const id = accesses;
    put({ ...event, id, fence: options.fence });
    let answer: object = { outcome: "unknown" };
    try {
      const result = await access();
      answer = answerOf(result);
      return result;
    } finally {
      put({ event: "answered", id, ...answer });
    }
  };

  put({ event: "started", format: 1, process: name, machine: machineId() });
  return {
    observer: {
      acquired(event) {
        const { resources, mode, fence } = event;
        put({ event: "acquired", resources, mode, fence, ...term(event) });
      },
      extended: (event) => put({ event: "extended", ...term(event) }),
      releasing: ({ owner }) => put({ event: "released", owner }),
      lost: ({ owner, error }) => put({ event: "lost", owner, reason: error.reason }),
    },
    read: (resource, options, access) =>
      record({ event: "read", resource }, options, access, (value) => {
        return { outcome: "accepted", value: textOf("the value that is read", value) };
      }),
    write: async (resource, value, options, access) => {
      const event = { event: "write", resource, value: textOf("value", value) } as const;
      return record(event, options, access, (result) => ({ outcome: result === false ? "refused" : "accepted" }));
    },
    close() {
      isOpen = false;
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

/** @throws {TypeError} for an object: two that are equal may have different texts */
function textOf(name: string, value: unknown): string {
  if (value == null) return "null";
  if (["string", "number", "boolean"].includes(typeof value)) return String(value);
  throw new TypeError(`${name} must be a string, a number, a boolean or null: record a version or a digest instead`);
}

/** Rounds down to microseconds, so that lines stay short, and times in order. */
function micros(ms: number): number {
  return Math.floor(ms * 1_000) / 1_000;
}

/**
 * Returns the moment at which a clock shows 0, on the monotonic clock of the machine that all of its processes share.
 * The shortest of several measurements was not interrupted.
 */
function originOf(clock: Clock): number {
  const now = (): number => Number(process.hrtime.bigint()) / 1e6;
  const measured = Array.from({ length: 10 }, () => {
    const beforeMs = now();
    const shownMs = clock.monotonicMs();
    return { originMs: beforeMs - shownMs, tookMs: now() - beforeMs };
  });
  return measured.reduce((best, other) => (other.tookMs < best.tookMs ? other : best)).originMs;
}

/** Returns a text that differs between machines, and between starts of a machine: their monotonic clocks do. */
function machineId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return `${hostname()}, up since minute ${Math.round((Date.now() - 1_000 * uptime()) / 60_000)}`;
  }
}
