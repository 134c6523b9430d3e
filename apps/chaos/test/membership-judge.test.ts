import { describe, expect, test } from "vitest";
import type { ClientMessage } from "../src/client/messages.ts";
import { elementsOf } from "../src/client/store.ts";
import { startJournal } from "../src/history/journal.ts";
import type { Visit } from "../src/history/visit.ts";
import { startChronicle } from "../src/membership/chronicle.ts";
import { judgeRun } from "../src/membership/judge.ts";
import { pageOf } from "../src/membership/report.ts";
import type { ChaosOptions } from "../src/options.ts";
import { changesOf, describeStage, nameOf, serversOf, threeToFiveToFive } from "../src/world/stages.ts";
import { visit } from "./visits.ts";

function granted(client: string, grantedAtMs: number): ClientMessage {
  const lock = {
    client,
    resource: "stock-1",
    stage: "generation 0",
    fence: 1_000,
    attemptAtMs: 0,
    grantedAtMs,
    waitedMs: 7,
  };
  return { kind: "granted", client, grant: lock };
}

function startedChronicle() {
  return startChronicle(
    () => ["generation 0", "generation 0"],
    () => {},
  );
}

/** The violations of these visits, whose elements are all in the sets at the end. */
function violations(visits: readonly Visit[], left = visits.map(({ element }) => element)): readonly string[] {
  const chronicle = startedChronicle();
  for (const each of visits) chronicle.hear({ kind: "visited", client: each.client, visit: each });
  return judgeRun(chronicle, new Map([["stock-1", { plain: left, fenced: left }]]), []).violations;
}

describe("judgeRun()", () => {
  test("judgeRun() checks the locks and the sets of each resource alone", () => {
    expect(violations([visit("c1", 10, 20), visit("c2", 15, 30, { resource: "stock-2" })], ["c1.10"])).toEqual([]);
    expect(violations([visit("c1", 10, 20), visit("c2", 15, 30)], ["c1.10"])).toEqual([
      "updates lost though the set checks tokens: 1",
      "grants while another client held the lock: 1",
      "updates lost though the lock was held all the time: 1",
      "c2 (token 1015) got a lock 5 ms before that of c1 (token 1010) ended: released",
    ]);
  });

  test("judgeRun() finds clients without a lock, errors, and clients of wrong stages that are served", () => {
    const chronicle = startedChronicle();
    chronicle.hear({ kind: "failed", client: "c1", stage: "generation 0", atMs: 5, message: "acquire: no" });
    chronicle.probes.push(
      { what: "a", wanted: "refused", error: undefined },
      { what: "b", wanted: "refused", error: "n1 failed: does not serve clients of generation 0: it serves" },
      { what: "c", wanted: "served", error: undefined },
    );
    expect(judgeRun(chronicle, new Map(), ["c9"]).violations).toEqual([
      "c1 of generation 0 got an error: acquire: no",
      "c9 got no lock at the last stage",
      "a must be refused: it got a lock",
    ]);
  });
});

describe("startJournal()", () => {
  test("startJournal() ignores the errors of clients that are paused", () => {
    const { hear, begin, errors } = startJournal();
    begin("c1", "paused");
    const atMs = Number.MAX_SAFE_INTEGER;
    for (const client of ["c1", "c2"]) hear({ kind: "failed", client, stage: "generation 0", atMs, message: "lost" });
    expect(errors.map(({ client }) => client)).toEqual(["c2"]);
  });

  test("startJournal() ends the locks of a client that is killed", () => {
    const { hear, visits } = startJournal();
    hear(granted("c1", 10));
    hear(granted("c2", 20));
    hear({ kind: "killed", client: "c1", atMs: 100 });
    expect(visits).toEqual([expect.objectContaining({ client: "c1", heldUntilMs: 50, plain: "skipped" })]);
  });
});

test("elementsOf() returns the elements to which the last write leads back", () => {
  expect(elementsOf([])).toEqual([]);
  expect(elementsOf([" a", "a b", "b c"])).toEqual(["a", "b", "c"]);
  expect(elementsOf([" a", "a b", "b c", "a d"])).toEqual(["a", "d"]);
});

test("changesOf() gives both sets of a change the generation of the old one", () => {
  const changes = changesOf(threeToFiveToFive);
  expect(changes.flatMap(({ before, joint, after }) => [before, joint, after].map(nameOf))).toEqual([
    ...["generation 0", "generation 0 with both sets", "generation 1"],
    ...["generation 1", "generation 1 with both sets", "generation 2"],
  ]);
  expect(changes.map(({ joint }) => serversOf(joint).length)).toEqual([6, 10]);
  expect(describeStage({ generation: 0, sets: [["n1"], ["n2", "n3"]] })).toBe(
    "generation 0 with both sets: n1 and n2 n3",
  );
});

test("pageOf() shows each line of the transcript, and what was violated", () => {
  const chronicle = startedChronicle();
  chronicle.note("all begins");
  chronicle.hear(granted("c1", 1_000));
  chronicle.note("n1 is stopped");
  const options: ChaosOptions = {
    ...{ seconds: 1, nodes: 5, clients: 2, ttlMs: 1_000, mode: "membership", seed: 7, nemeses: [] },
    ...{ report: "folder", adapters: [] },
  };
  const page = pageOf(options, chronicle, judgeRun(chronicle, new Map(), ["c2"]));
  expect(page).toContain("pnpm chaos --membership --seconds 1 --clients 2 --ttl 1000 --seed 7 --report folder");
  expect(page).toMatch(/ 0\.0 s +0 .* 2 of generation 0 +all begins\n.* 1 +0\.0 s .*n1 is stopped/);
  expect(page).toContain("VIOLATED: c2 got no lock at the last stage");
});
