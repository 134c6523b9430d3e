import { describeLockNode } from "../../src/index.ts";
import { rightNodes, wrongNode } from "../right-nodes.ts";
import { inThisProcess, nodeOnVirtualClock, nothing, remoteSubject } from "../subjects.ts";

/*
 * Run by verdicts.test.ts in a vitest of its own, as one of the nodes has to fail.
 */

for (const { name, cannot = {}, related, makeFrom } of rightNodes) {
  const create = async () => ({ ...(await remoteSubject(makeFrom)), ...(related && { related }) });
  describeLockNode(name, { create, cannot });
}
describeLockNode(wrongNode.name, {
  create: async () => {
    const { node: complete, time } = nodeOnVirtualClock();
    const node = wrongNode.makeFrom(complete);
    return { node, rival: node, ...time, close: nothing };
  },
  noServer: inThisProcess,
  patienceMs: 500,
});
