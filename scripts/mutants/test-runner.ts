/** Runs a test file with a fault in vitest: up to its first failure, and not for as long as it would wait for nothing. */
import { performance } from "node:perf_hooks";
import { type RunnerTask, type RunnerTestCase, type RunnerTestSuite, TestRunner } from "vitest";
import { type Executed, recordExecution } from "./executed-code.ts";

declare module "vitest" {
  interface TaskMeta {
    executed?: Executed;
  }
}

/** How long a test may wait in real time. Tests on a virtual clock hardly wait. */
const longestIdleMs = 2_000;

/** Tests may replace them. */
const { setInterval, clearInterval } = globalThis;

/** How long this thread has had nothing to do, which a busy machine hardly changes. */
const idleMs = (): number => performance.eventLoopUtilization().idle;

export default class extends TestRunner {
  readonly #endRecord = process.env.HOLDFAST_EXECUTED === "1" ? recordExecution() : undefined;

  async runTask(test: RunnerTestCase): Promise<void> {
    const untilMs = idleMs() + longestIdleMs;
    let timer: NodeJS.Timeout | undefined;
    const hang = new Promise<never>((_, reject) => {
      timer = setInterval(() => idleMs() > untilMs && reject(new Error("the test hangs")), 100);
    });
    try {
      await Promise.race([TestRunner.getTestFn(test)(), hang]);
    } finally {
      clearInterval(timer);
    }
  }

  override onAfterRunTask(test: RunnerTask): void {
    super.onAfterRunTask(test);
    if (test.result?.state === "fail") this.cancel("test-failure");
  }

  override async onAfterRunSuite(suite: RunnerTestSuite): Promise<void> {
    if (suite === suite.file && this.#endRecord) {
      const { moduleExecutionInfo } = Reflect.get(this, "workerState");
      suite.meta.executed = this.#endRecord((path) => moduleExecutionInfo.get(path)?.startOffset ?? 0);
    }
    await super.onAfterRunSuite(suite);
  }
}
