import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { writeReport } from "../src/report.ts";
import type { Offers } from "../src/topics.ts";
import { inThisProcess, noOtherProcess } from "./subjects.ts";

const offers = {} as Offers; // none
const settings = { cannot: new Map(), noServer: inThisProcess, noOtherProcess, repetition: 1 };

/** Makes a folder for the reports of a test. */
async function reportFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-reports-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  vi.stubEnv("HOLDFAST_CONFORMANCE_REPORT", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  return folder;
}

test("writeReport() writes a separate page for each name, with any characters", async () => {
  const folder = await reportFolder();
  for (const name of [
    "my node (v1)",
    "my node v1",
    "My Node V1",
    "🔒",
    "🗝",
    "../up",
    "n".repeat(500),
    "名".repeat(500),
  ]) {
    await writeReport({ name, offers, settings, topics: [], unselected: 0 });
  }
  const files = await readdir(folder);
  expect(files).toHaveLength(8);
  expect(new Set(files.map((file) => file.toLowerCase())).size).toBe(files.length);
  for (const file of files) expect(file).toMatch(/^[\p{L}\p{N}-]+\.md$/u);
});

test("writeReport() says how much of the suite was run", async () => {
  const folder = await reportFolder();
  const result = { statement: "locks exclude", outcome: () => "passed" as const, mistake: () => undefined };
  const topics = [{ title: "locks", results: [result] }];
  const verdictOf = async (repetition: number, unselected: number): Promise<string> => {
    await writeReport({ name: "node", offers, settings: { ...settings, repetition }, topics, unselected });
    const [file = ""] = await readdir(folder);
    return (await readFile(join(folder, file), "utf8")).split("\n")[2] ?? "";
  };
  const lessOften = "Races were repeated 0.25 times as often as by default.";
  expect(await verdictOf(1, 0)).toMatch(/^Passed: 1 of 1 facts, by `@holdfast\/conformance` [\d.]+\.$/);
  expect(await verdictOf(0.25, 0)).toMatch(`${lessOften}`);
  expect(await verdictOf(0.25, 0)).toMatch(/^\*\*Not the whole suite\*\*: 1 of 1 facts/);
  expect(await verdictOf(0.25, 7)).toMatch(
    new RegExp(`^\\*\\*Not the whole suite\\*\\*.*7 more were left out\\. ${lessOften}$`),
  );
  expect(await verdictOf(10, 0)).toMatch(/^Passed: .*Races were repeated 10 times as often as by default\.$/);
});
