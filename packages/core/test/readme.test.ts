import { fileURLToPath } from "node:url";
import { readmeExamples, runExample } from "@holdfast/testkit";
import { expect, it } from "vitest";

const packageDirectory = fileURLToPath(new URL("..", import.meta.url));

it("the README's example runs, and prints what it says", async () => {
  const [example] = await readmeExamples(`${packageDirectory}README.md`);
  const printed = await runExample(example?.code ?? "", packageDirectory);
  const [both, label, message] = printed.trim().split("\n");
  expect(both).toMatch(/^from:7 and to:9 for \d{4}(\.\d+)? ms, fence \d+ > \d+$/);
  expect(label).toBe("host-3");
  expect(message).toMatch(/^could not lock nightly-report: waited 100 ms; this process itself holds nightly-report /);
}, 60_000);
