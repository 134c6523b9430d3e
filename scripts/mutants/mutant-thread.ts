import { type PoolOptions, ThreadsPoolWorker } from "vitest/node";

type Message = Parameters<ThreadsPoolWorker["send"]>[0];

/**
 * A thread for test files with a fault. It ends when a file takes longer than its limit, because the fault may make it loop
 * forever, and after a file that fails, because what such a file leaves behind could make the next one fail.
 */
export class MutantThread extends ThreadsPoolWorker {
  override readonly name = "mutant";
  readonly #options: PoolOptions;
  readonly #limitMs: (path: string) => number;
  #file = "";
  #limit: NodeJS.Timeout | undefined;

  constructor(options: PoolOptions, limitMs: (path: string) => number) {
    super(options);
    this.#options = options;
    this.#limitMs = limitMs;
  }

  override send(message: Message): void {
    if (message.type === "run") {
      this.#file = message.context.files[0]?.filepath ?? "";
      this.#limit = setTimeout(() => this.stop(), this.#limitMs(this.#file));
    }
    super.send(message);
  }

  canReuse(): boolean {
    clearTimeout(this.#limit);
    const { state } = this.#options.project.vitest;
    return state.getFiles([this.#file]).every(({ result }) => result?.state === "pass");
  }

  override stop(): Promise<void> {
    clearTimeout(this.#limit);
    return super.stop();
  }
}
