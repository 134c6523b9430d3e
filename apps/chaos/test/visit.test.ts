import { expect, test } from "vitest";
import { visit } from "../src/client/visit.ts";

const store = {
  plain: { read: async () => "", write: async () => "" },
  fenced: { read: async () => "", write: async () => "" },
};

test("visit() ends the right to a lock when its validity ended, even if the client was paused and did not notice", async () => {
  let leftMs = 1_000;
  const lock = {
    fence: 1,
    signal: new AbortController().signal,
    remainingMs: () => leftMs,
    extend: async () => {},
    release: async () => {},
  };
  const errand = {
    ...{ client: "c1", resource: "a", stage: "generation 0", element: "c1.1", dwellMs: 2, extend: false, store },
    ...{ calledAtMs: 0, attemptAtMs: 0, tell() {}, fail() {}, inside: async () => {} },
  };
  const held = await visit(lock, errand);
  expect(held).toMatchObject({ end: "released", plain: "written" });
  // It ends during the visit. A real pause would also be longer than the validity that is left.
  const lost = await visit(lock, {
    ...errand,
    tell({ kind }) {
      if (kind === "granted") leftMs = 1;
      if (kind === "writing") leftMs = 0;
    },
    dwellMs: 50,
    extend: true,
  });
  expect(lost).toMatchObject({ end: "lost", plain: "late" });
});
