import { fileURLToPath } from "node:url";
import { readmeExamples, runExample } from "@holdfast/testkit";
import { expect, it } from "vitest";

const packageDirectory = fileURLToPath(new URL("..", import.meta.url));

it("the README's examples run, the second with metrics on the console", async () => {
  const [first, second] = await readmeExamples(`${packageDirectory}README.md`);
  expect(await runExample(first?.code ?? "", packageDirectory)).toMatch(/^measured and traced, fence \d+$/m);
  expect(await runExample(second?.code ?? "", packageDirectory)).toContain("holdfast.lock.hold.duration");
}, 60_000);
