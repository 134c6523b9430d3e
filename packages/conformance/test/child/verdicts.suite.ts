import { describeLockNode } from "../../src/index.ts";
import { correctNodes, wrongNode } from "../correct-nodes.ts";
import { inThisProcess, nodeOnVirtualClock, noOtherProcess, nothing, remoteSubject } from "../subjects.ts";

/*
 * Run by verdicts.test.ts in a separate vitest, because one of the nodes must fail.
 */

for (const { name, cannot = {}, related, counters, makeFrom } of correctNodes) {
  const create = async () => ({ ...(await remoteSubject(makeFrom, counters)), ...(related && { related }) });
  describeLockNode(name, { create, cannot, noOtherProcess });
}
describeLockNode(wrongNode.name, {
  create: async () => {
    const { node: complete, time } = nodeOnVirtualClock();
    const node = wrongNode.makeFrom(complete);
    return { node, rival: node, ...time, close: nothing };
  },
  noServer: inThisProcess,
  noOtherProcess,
  timeoutMs: 500,
});
