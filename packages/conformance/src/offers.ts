import { type Client, clientOf } from "./client.ts";
import type { Settings } from "./settings.ts";
import type { LockNodeSubject } from "./subject.ts";
import type { Offers } from "./topics.ts";
import { within } from "./within.ts";

/**
 * Finds out what subjects offer. As it decides which tests there are, one subject is made before the tests.
 *
 * @throws {TypeError} where a subject has no server and there is no reason for it, or has both
 */
export async function offersOf({ create, noServer, patienceMs }: Settings): Promise<Offers> {
  const subject = await within(patienceMs, "create()", create());
  try {
    insistOnServerOrReason(subject, noServer);
    const { node, server, advance } = subject;
    return {
      watch: node.watch !== undefined,
      inspect: node.inspect !== undefined,
      server: server !== undefined,
      advance: advance !== undefined,
      line: await keepsLine(clientOf(node, patienceMs)),
    };
  } finally {
    await within(patienceMs, "close()", subject.close());
  }
}

/** Whether the node names who waits. One that fails even here does not, as far as can be told: the tests say what is wrong. */
async function keepsLine(node: Client): Promise<boolean> {
  try {
    await node.grant("alice", "probe");
    await node.deny("bob", "probe", { waiter: "probing" });
    return (await node.free("alice", "probe")) !== undefined;
  } catch {
    return false;
  }
}

function insistOnServerOrReason({ server }: LockNodeSubject, noServer: string | undefined): void {
  if (server === undefined && noServer === undefined) {
    throw new TypeError("give the subject a server, so that outages can be tested, or say in noServer why it has none");
  }
  if (server !== undefined && noServer !== undefined) {
    throw new TypeError(`noServer says "${noServer}", but the subject has a server`);
  }
}
