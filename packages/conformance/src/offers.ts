import type { Settings } from "./settings.ts";
import type { Offers } from "./topics.ts";
import { Client } from "./world/client.ts";
import { within } from "./world/within.ts";

/**
 * Finds out what subjects offer. Creates one subject before the tests, because the offers decide which tests to
 * register.
 *
 * @throws {TypeError} if the subject has neither a server nor a reason for having none, or has both; likewise for
 * `rivalModule`
 */
export async function offersOf({ create, noServer, noOtherProcess, timeoutMs }: Settings): Promise<Offers> {
  const subject = await within(timeoutMs, "create()", create());
  try {
    assertPartOrReason("server", "outages", subject.server, "noServer", noServer);
    assertPartOrReason(
      "rivalModule",
      "exclusion between processes",
      subject.rivalModule,
      "noOtherProcess",
      noOtherProcess,
    );
    const { node, server, rivalModule, advance } = subject;
    const client = new Client(node, timeoutMs);
    // A node that fails in these probes fails in its tests, which say why.
    return {
      watch: node.watch !== undefined,
      inspect: node.inspect !== undefined,
      close: node.close !== undefined,
      floor: node.raiseFloor !== undefined || node.scan !== undefined,
      server: server !== undefined,
      otherProcess: rivalModule !== undefined,
      advance: advance !== undefined,
      waitingLists: await keepsWaitingLists(client).catch(() => false),
      ownCounters: await keepsOwnCounters(client).catch(() => false),
      ownFloor: await keepsOwnFloor(client).catch(() => false),
    };
  } finally {
    await within(timeoutMs, "close()", subject.close());
  }
}

/** Whether the node names a waiter when a lock is released. */
async function keepsWaitingLists(node: Client): Promise<boolean> {
  await node.grant("alice", "probe");
  await node.deny("bob", "probe", { waiter: "probing" });
  return (await node.free("alice", "probe")) !== undefined;
}

/** Whether the node has different counters for two resources. */
async function keepsOwnCounters(node: Client): Promise<boolean> {
  const fence = await node.grant("alice", "counter probe", { fenceHint: 1_000 });
  return (await node.grant("alice", "other counter probe")) < fence;
}

/** Whether the node leaves the counters of claims in force alone when it raises its floor. */
async function keepsOwnFloor(node: Client): Promise<boolean> {
  const fence = await node.grant("alice", "floor probe");
  await node.raiseFloor({ floor: fence + 1_000 });
  return (await node.hold("alice", "floor probe")) === fence;
}

function assertPartOrReason(
  part: string,
  tested: string,
  value: unknown,
  option: string,
  reason: string | undefined,
): void {
  if (value === undefined && reason === undefined) {
    throw new TypeError(
      `give the subject a ${part} so that ${tested} can be tested, or state in ${option} why it has none`,
    );
  }
  if (value !== undefined && reason !== undefined) {
    throw new TypeError(`${option} says "${reason}", but the subject has a ${part}`);
  }
}
