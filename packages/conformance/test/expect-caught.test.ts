import type { LockNode } from "@holdfast/core";
import { expect, test } from "vitest";
import { createExpectCaught } from "../src/expect-caught.ts";
import { type BrokenNode, brokenNodes, type LockNodeSubject, type SubjectServer } from "../src/index.ts";
import { parseOptions } from "../src/settings.ts";
import { proofOf } from "../src/topics.ts";
import { noOtherProcess, remoteSubject } from "./subjects.ts";

const statement = "acquire() grants a resource that was never claimed";

/** Breaks correct nodes in one way, and settles like the test of the broken node. */
async function expectCaught(broken: Partial<BrokenNode>, create = () => remoteSubject()): Promise<void> {
  const whole: BrokenNode = { fault: "is correct", caughtBy: statement, create: (correct) => correct(), ...broken };
  const proof = proofOf(whole.caughtBy);
  if (proof === undefined) throw new Error(`no test "${whole.caughtBy}"`);
  // These subjects need no clean-up.
  await createExpectCaught(parseOptions({ create, noOtherProcess }))(whole, proof, () => {});
}

/** Returns the published broken node that this test catches. */
function publishedNode(caughtBy: string): BrokenNode {
  return brokenNodes.find((broken) => broken.caughtBy === caughtBy) as BrokenNode;
}

test("expectCaught() passes if the test fails for the broken node and passes for the correct one", async () => {
  await expectCaught(publishedNode(statement));
});

test("expectCaught() fails if the node is not broken", async () => {
  await expect(expectCaught({})).rejects.toThrow(`the test "${statement}": expected 'passed' to be 'failed'`);
});

test("expectCaught() fails if the broken node cannot be created", async () => {
  const create = () => Promise.reject(new Error("no such script"));
  await expect(expectCaught({ create })).rejects.toThrow("no such script");
});

test("expectCaught() fails if the correct node also fails", async () => {
  const { create } = publishedNode(statement);
  await expect(expectCaught({}, () => create(() => remoteSubject()))).rejects.toThrow("acquire() resolved with");
});

test("expectCaught() fails if the node keeps to its declared limit", async () => {
  const unrelatedClaimer = publishedNode(
    "acquire() rejects a claim on unrelated resources, names them, and changes nothing",
  );
  const create = async (correct: () => Promise<LockNodeSubject>): Promise<LockNodeSubject> => {
    const subject = await unrelatedClaimer.create(correct);
    const node: LockNodeSubject["node"] = {
      ...subject.node,
      async acquire(request) {
        if (request.resources.length > 1) throw new Error(`unrelated: ${request.resources}`);
        return subject.node.acquire(request);
      },
    };
    return { ...subject, node, rival: node };
  };
  await expectCaught(unrelatedClaimer);
  await expect(expectCaught({ ...unrelatedClaimer, create })).rejects.toThrow("expected 'passed' to be 'failed'");
});

test("expectCaught() fails if the broken node declares a limit and its subjects lack what that needs", async () => {
  const caughtBy = "acquire() rejects a claim on unrelated resources, names them, and changes nothing";
  const cannot = { unrelatedResources: "they are in different places" };
  await expect(expectCaught({ caughtBy, cannot })).rejects.toThrow("a subject must have related()");
});

test("expectCaught() gives the broken node at least as much time as the correct one needs", async () => {
  const { caughtBy } = publishedNode("ended watches leave no connection open");
  await expect(expectCaught({ caughtBy }, closingLate)).rejects.toThrow("expected 'passed' to be 'failed'");
});

/** A correct node that closes the connection of a watch a while after the watch has ended. */
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
