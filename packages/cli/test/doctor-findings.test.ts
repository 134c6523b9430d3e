import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { kinds } from "../src/doctor/judge.ts";
import { stopSharedMysql } from "./doctor/mysql-lab.ts";
import { doctorPage } from "./doctor/page.ts";
import { stopSharedDatabase } from "./doctor/postgres-lab.ts";
import { situations } from "./doctor/situations.ts";
import { packageFolder } from "./support/program.ts";

afterAll(stopSharedDatabase);
afterAll(stopSharedMysql);

const titled = situations.map((situation) => [situation.code, situation.how, situation] as const);

test.for(titled)("examine() finds %s: %s", async ([code, , { also, examine }]) => {
  const { findings } = await examine();
  expect(new Set(findings.map((finding) => finding.code))).toEqual(new Set([code, ...also]));
});

test("every finding is shown with real servers, and listed in DOCTOR.md (vitest -u writes the page)", async () => {
  expect([...new Set(situations.map(({ code }) => code))].sort()).toEqual(Object.keys(kinds).sort());
  const file = join(packageFolder, "DOCTOR.md");
  const page = await readFile(file, "utf8");
  await expect(doctorPage(page, situations)).toMatchFileSnapshot(file);
});
