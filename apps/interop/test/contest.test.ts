import { expect, test } from "vitest";
import { holdContest, sum } from "../src/contest.ts";
import { holdfastOverIoredis, holdfastOverNodeRedis } from "../src/libraries/holdfast.ts";
import { none } from "../src/libraries/library.ts";
import { theirs } from "../src/libraries/others.ts";

const contest = { servers: 3, clients: 2, locks: 6, limitMs: 60_000 };

test("holdContest() loses no update between clients of Holdfast and of all the other libraries", async () => {
  const libraries = [holdfastOverIoredis, holdfastOverNodeRedis, ...theirs];
  const { byLibrary, lostUpdates } = await holdContest({ ...contest, libraries });
  expect(lostUpdates).toBe(0);
  expect(byLibrary).toMatchObject(
    libraries.map(({ name }) => ({ library: name, locks: 12, lostLocks: 0, staleTokens: 0 })),
  );
  expect(sum(byLibrary).conflicts).toBeGreaterThan(0);
});

test("holdContest() loses updates without locks", async () => {
  const { byLibrary, lostUpdates } = await holdContest({ ...contest, libraries: [none], clients: 4, locks: 50 });
  expect(byLibrary).toMatchObject([{ locks: 200, conflicts: 0 }]);
  expect(lostUpdates).toBeGreaterThan(0);
});
