import type { LockNode } from "@holdfast/core";
import { expect, test } from "vitest";
import { createBite } from "../src/bite.ts";
import { type LockNodeSubject, type Mistake, mistakes, type SubjectServer } from "../src/index.ts";
import { parseOptions } from "../src/settings.ts";
import { proofOf } from "../src/topics.ts";
import { remoteSubject } from "./subjects.ts";

const statement = "acquire() grants a resource that was never claimed";

/** Makes one mistake in right nodes, and settles as its test would. */
async function bite(mistake: Partial<Mistake>, create = () => remoteSubject()): Promise<void> {
  const whole: Mistake = { mistake: "is none", caughtBy: statement, create: (right) => right(), ...mistake };
  const proof = proofOf(whole.caughtBy);
  if (proof === undefined) throw new Error(`no test "${whole.caughtBy}"`);
  // What is made here needs no cleaning up.
  await createBite(parseOptions({ create }))(whole, proof, () => {});
}

/** The published mistake that this test catches. */
function publishedMistake(caughtBy: string): Mistake {
  return mistakes.find((mistake) => mistake.caughtBy === caughtBy) as Mistake;
}

test("a bite passes where the test fails for the node with the mistake, and passes for the right one", async () => {
  await bite(publishedMistake(statement));
});

test("a bite fails where the mistake is none", async () => {
  await expect(bite({})).rejects.toThrow(`the test "${statement}": expected 'passed' to be 'failed'`);
});

test("a bite fails where the node with the mistake cannot be made", async () => {
  const create = () => Promise.reject(new Error("no such script"));
  await expect(bite({ create })).rejects.toThrow("no such script");
});

test("a bite fails where the right node fails, too", async () => {
  const { create } = publishedMistake(statement);
  await expect(bite({}, () => create(() => remoteSubject()))).rejects.toThrow("acquire() resolved with");
});

test("a bite fails where the node does what its limit says", async () => {
  const declaredMistake = publishedMistake(
    "acquire() rejects a claim on unrelated resources, names them, and changes nothing",
  );
  const create = async (right: () => Promise<LockNodeSubject>): Promise<LockNodeSubject> => {
    const subject = await declaredMistake.create(right);
    const node: LockNodeSubject["node"] = {
      ...subject.node,
      async acquire(request) {
        if (request.resources.length > 1) throw new Error(`unrelated: ${request.resources}`);
        return subject.node.acquire(request);
      },
    };
    return { ...subject, node, rival: node };
  };
  await bite(declaredMistake);
  await expect(bite({ ...declaredMistake, create })).rejects.toThrow("expected 'passed' to be 'failed'");
});

test("a bite fails where the mistake declares a limit, and its subjects lack what that needs", async () => {
  const caughtBy = "acquire() rejects a claim on unrelated resources, names them, and changes nothing";
  const cannot = { unrelatedResources: "they are in different places" };
  await expect(bite({ caughtBy, cannot })).rejects.toThrow("a subject must have related()");
});

test("a bite gives the node with the mistake no less time than the right one needs", async () => {
  const { caughtBy } = publishedMistake("watches that have ended leave no connection open");
  await expect(bite({ caughtBy }, closingLate)).rejects.toThrow("expected 'passed' to be 'failed'");
});

/** A right node that closes the connection of a watch a while after that has ended. */
async function closingLate(): Promise<LockNodeSubject> {
  const subject = await remoteSubject();
  const { node, server } = subject as LockNodeSubject & { node: Required<LockNode>; server: SubjectServer };
  let lingering = 0;
  const watch: Required<LockNode>["watch"] = async (resources, onReleased) => {
    const unwatch = await node.watch(resources, onReleased);
    return async () => {
      await unwatch();
      lingering++;
      setTimeout(() => lingering--, 700);
    };
  };
  return {
    ...subject,
    node: { ...node, watch },
    server: { ...server, connections: async () => (await server.connections()) + lingering },
  };
}
