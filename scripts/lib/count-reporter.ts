import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

/**
 * A vitest reporter whose last line is `N passed, N failed`, which `.ci/run` reads. Everything but a passed test counts
 * as a failure: a skipped test (unless `-t` has skipped it), a file that does not load, a worker that crashes, an error
 * outside the tests. The first failure is printed when it happens, the others at the end.
 */
export class CountReporter implements Reporter {
  #selectsByName = false;
  #hasFailed = false;

  onInit({ config }: Vitest): void {
    this.#selectsByName = config.testNamePattern !== undefined;
  }

  onTestCaseResult(test: TestCase): void {
    const { state, errors = [] } = test.result();
    if (state !== "failed" || this.#hasFailed) return;
    this.#hasFailed = true;
    const reasons = errors.map(({ message, stack }) => stack ?? message);
    console.log([`the first failure: ${test.module.relativeModuleId}: ${test.fullName}`, ...reasons].join("\n"));
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[], reason: string): void {
    let passed = 0;
    let failed = errors.length;
    for (const module of modules) {
      let others = 0;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed") passed += 1;
        else if (state !== "skipped" || !this.#selectsByName) others += 1;
        if (state === "skipped" && !this.#selectsByName) console.log(`skipped, so counted as failed: ${test.fullName}`);
      }
      failed += others === 0 && !module.ok() ? 1 : others;
    }
    if (failed === 0 && (passed === 0 || reason !== "passed")) failed = 1;
    console.log(`${passed} passed, ${failed} failed`);
    if (failed > 0) process.exitCode = 1;
  }
}
