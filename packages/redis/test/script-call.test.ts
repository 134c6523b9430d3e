import { expect, test } from "vitest";
import type { RedisConnection, ScriptCall } from "../src/index.ts";
import { redisNode } from "../src/index.ts";
import { acquireRequest, extendRequest, releaseRequest } from "./requests.ts";
import { ignore } from "./timing.ts";

type Send = (command: "EVALSHA" | "EVAL", script: string, call: ScriptCall) => Promise<unknown>;

/** A node whose calls end here, and are never answered. */
function nodeOver(runScript: Send, name = "n") {
  const connection: RedisConnection = { name, isCluster: false, isReady: () => true, runScript };
  return redisNode(connection, { verifyServer: false });
}

/** The calls of nodes of which each is asked the same. */
async function callsOf(nodeCount: number, ask: (node: ReturnType<typeof redisNode>) => void): Promise<ScriptCall[]> {
  const calls: ScriptCall[] = [];
  for (let index = 0; index < nodeCount; index += 1) {
    const send: Send = (_command, _script, call) => {
      calls.push(call);
      return new Promise(() => {});
    };
    ask(nodeOver(send, `n${index}`));
  }
  await new Promise(process.nextTick);
  return calls;
}

/** What a library would write that is given the words. */
function written(command: string, script: string, call: ScriptCall): Buffer {
  const words = [command, script, String(call.keyCount), ...call.keysAndArguments()];
  const bulks = words.map((word) => [Buffer.from(`$${Buffer.byteLength(word)}\r\n`), Buffer.from(word), "\r\n"]);
  return Buffer.concat([`*${words.length}\r\n`, ...bulks.flat()].map((part) => Buffer.from(part)));
}

function askForMuch(node: ReturnType<typeof redisNode>): void {
  ignore(node.acquire(acquireRequest("prüfer 🔒", { resources: ["{é}", "日本語"], waiter: "é" })));
  ignore(node.extend(extendRequest("bob", { ttlMs: 5_000 })));
  ignore(node.acquire(acquireRequest("carol", { takeover: "ß", ttlMs: 5_000 })));
  ignore(node.inspect("r"));
  ignore(node.release(releaseRequest("dave", ["\u0000", "r"])));
}

test("ScriptCall.encode() writes the words of keysAndArguments(), byte for byte", async () => {
  const calls = await callsOf(2, askForMuch);
  expect(calls).toHaveLength(2);
  for (const call of calls) expect(call.encode("EVALSHA", "sha")).toEqual(written("EVALSHA", "sha", call));
});

test("ScriptCall.encode() writes the command and the script that it is given, whatever it was given before", async () => {
  const [call] = (await callsOf(1, askForMuch)) as [ScriptCall];
  const commands = [
    ["EVALSHA", "sha"],
    ["EVAL", "return 'é'"],
    ["EVAL", "return 1"],
    ["EVALSHA", "sha"],
  ] as const;
  for (const [command, script] of commands)
    expect(call.encode(command, script)).toEqual(written(command, script, call));
});

test("ScriptCall leaves out what was given up, and nothing else, at no other node", async () => {
  const nodes: ReturnType<typeof redisNode>[] = [];
  const requests = [frozenRequest("alice", ["a", "b"]), frozenRequest("bob", ["c", "d"])];
  const [first, second] = (await callsOf(2, (node) => {
    nodes.push(node);
    for (const request of requests) ignore(node.acquire(request));
  })) as [ScriptCall, ScriptCall];
  const stepsOf = (call: ScriptCall) => String(call.keysAndArguments()[call.keyCount]);
  const steps = stepsOf(first);
  const whole = second.encode("EVALSHA", "sha");

  ignore(nodes[0]?.release(releaseRequest("alice", ["a", "b"])) as Promise<unknown>);
  expect(stepsOf(first)).toBe(steps.replace("a", "-"));
  expect(first.encode("EVALSHA", "sha")).toEqual(written("EVALSHA", "sha", first));
  expect(stepsOf(second)).toBe(steps);
  expect(second.encode("EVALSHA", "sha")).toEqual(whole);
});

/** As core makes them: the same for all nodes. */
function frozenRequest(owner: string, resources: string[]) {
  return Object.freeze(acquireRequest(owner, { resources: Object.freeze(resources) }));
}
