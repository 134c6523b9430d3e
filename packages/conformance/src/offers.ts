import type { Settings } from "./settings.ts";
import type { LockNodeSubject } from "./subject.ts";
import type { Offers } from "./topics.ts";
import { type Client, clientOf } from "./world/client.ts";
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
    assertServerOrReason(subject, noServer);
    assertRivalModuleOrReason(subject, noOtherProcess);
    const { node, server, rivalModule, advance } = subject;
    return {
      watch: node.watch !== undefined,
      inspect: node.inspect !== undefined,
      close: node.close !== undefined,
      floor: node.raiseFloor !== undefined || node.scan !== undefined,
      server: server !== undefined,
      otherProcess: rivalModule !== undefined,
      advance: advance !== undefined,
      waitingLists: await keepsWaitingLists(clientOf(node, timeoutMs)),
      ownCounters: await keepsOwnCounters(clientOf(node, timeoutMs)),
      ownFloor: await keepsOwnFloor(clientOf(node, timeoutMs)),
    };
  } finally {
    await within(timeoutMs, "close()", subject.close());
  }
}

/** Whether the node names a waiter when a lock is released. False if it fails here, as its tests then say why. */
async function keepsWaitingLists(node: Client): Promise<boolean> {
  try {
    await node.grant("alice", "probe");
    await node.deny("bob", "probe", { waiter: "probing" });
    return (await node.free("alice", "probe")) !== undefined;
  } catch {
    return false;
  }
}

/** Whether the node has different counters for two resources. False if it fails here. */
async function keepsOwnCounters(node: Client): Promise<boolean> {
  try {
    const fence = await node.grant("alice", "counter probe", { fenceHint: 1_000 });
    return (await node.grant("alice", "other counter probe")) < fence;
  } catch {
    return false;
  }
}

/** Whether the node leaves the counters of claims in force alone when it raises its floor. False if it fails here. */
async function keepsOwnFloor(node: Client): Promise<boolean> {
  try {
    const fence = await node.grant("alice", "floor probe");
    await node.raiseFloor({ floor: fence + 1_000 });
    return (await node.hold("alice", "floor probe")) === fence;
  } catch {
    return false;
  }
}

function assertServerOrReason({ server }: LockNodeSubject, noServer: string | undefined): void {
  if (server === undefined && noServer === undefined) {
    throw new TypeError(
      "give the subject a server so that outages can be tested, or state in noServer why it has none",
    );
  }
  if (server !== undefined && noServer !== undefined) {
    throw new TypeError(`noServer says "${noServer}", but the subject has a server`);
  }
}

function assertRivalModuleOrReason({ rivalModule }: LockNodeSubject, noOtherProcess: string | undefined): void {
  if (rivalModule === undefined && noOtherProcess === undefined) {
    throw new TypeError(
      "give the subject a rivalModule so that exclusion between processes can be tested, or state in noOtherProcess why it has none",
    );
  }
  if (rivalModule !== undefined && noOtherProcess !== undefined) {
    throw new TypeError(`noOtherProcess says "${noOtherProcess}", but the subject has a rivalModule`);
  }
}
