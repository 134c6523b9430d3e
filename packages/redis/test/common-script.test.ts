import { acquireRequest, releaseRequest } from "@holdfast/redis-testkit/requests";
import { beforeEach, describe, expect, test } from "vitest";
import { commonScript } from "../src/generated/common-script.ts";
import { lockScript } from "../src/generated/lock-script.ts";
import { redisNode } from "../src/index.ts";
import { connectionOver, startBench } from "./connection.ts";

const { client, node } = await startBench();

describe("an operation that the common script leaves undone", () => {
  /** Creates a node whose replies of the common script arrive only when `deliver` is called. */
  function delayed() {
    const connection = connectionOver(client);
    const sent: string[] = [];
    let deliver!: () => void;
    const delivered = new Promise<void>((resolve) => {
      deliver = resolve;
    });
    const runScript: typeof connection.runScript = async (command, script, call) => {
      const isCommon = script === commonScript.sha || script === commonScript.source;
      const marks = call.keysAndArguments()[call.keyCount + 1];
      sent.push(`${isCommon ? "common" : "lock"} ${marks}`);
      const reply = await connection.runScript(command, script, call);
      if (isCommon) await delivered;
      return reply;
    };
    return { ...redisNode({ ...connection, runScript }, { verifyServer: false }), sent, deliver };
  }

  beforeEach(async () => {
    for (const source of [commonScript.source, lockScript.source]) await client.script("LOAD", source);
    await node().acquire(acquireRequest("alice"));
  });

  test("is done by the lock script, and nothing else of its call", async () => {
    const { acquire, release, sent, deliver } = delayed();
    deliver();
    const answers = [
      release(releaseRequest("nobody", ["q"])),
      acquire(acquireRequest("alice", { fenceHint: 9 })),
      acquire(acquireRequest("carol", { resources: ["s"] })),
    ];
    expect(await Promise.all(answers)).toEqual([
      { released: false },
      { granted: true, fence: 1 },
      { granted: true, fence: 1 },
    ]);
    expect(sent).toEqual(["common raa", "lock ."]);
  });

  test("is not sent again if its owner has released meanwhile, and the release is", async () => {
    const { acquire, release, sent, deliver } = delayed();
    const claims = [acquire(acquireRequest("alice")), acquire(acquireRequest("bob", { resources: ["s"] }))];
    await new Promise(setImmediate);
    const released = release(releaseRequest("alice"));
    deliver();
    await expect(claims[0]).rejects.toThrow("timed out before it was sent");
    expect(await claims[1]).toEqual({ granted: true, fence: 1 });
    expect(await released).toEqual({ released: true });
    expect(sent).toEqual(["common aa", "common r"]);
    expect(await client.exists("lock:r")).toBe(0);
  });

  test("does not run after a release that is sent while it is in flight again", async () => {
    const { acquire, release, deliver } = delayed();
    deliver();
    const claim = acquire(acquireRequest("alice")).catch(() => {}); // given up, or granted before the release
    await new Promise(setImmediate);
    expect(await release(releaseRequest("alice"))).toEqual({ released: true });
    await claim;
    expect(await client.exists("lock:r")).toBe(0);
  });
});
